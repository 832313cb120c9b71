export interface MessagingRules {
  readonly requestDeadlineMs: number;
  /** he depth at which posts in channels start no more runs. */
  readonly maxChainDepth: number;
  /** he number of runs that a person's messages may start per day, by handle. */
  runsPerDay(handle: string): number;
}
