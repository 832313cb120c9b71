export interface MessagingRules {
  readonly requestDeadlineMs: number;
  /** How long a question to a person stays open. */
  readonly questionDeadlineMs: number;
  /** Whether questions are pushed to people outside of Substrat. */
  readonly pushes?: boolean;
  /** The depth at which posts in channels start no more runs. */
  readonly maxChainDepth: number;
  /** The number of runs of a tree until its owner speaks again. */
  readonly maxTreeRuns: number;
  /** The number of runs that a person's messages may start per day, by handle. */
  runsPerDay(handle: string): number;
}
