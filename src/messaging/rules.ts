export interface MessagingRules {
  readonly requestDeadlineMs: number;
  /** The depth at which posts in channels start no more runs. */
  readonly maxChainDepth: number;
  /** The number of runs that a person's messages may start per day, by handle. */
  runsPerDay(handle: string): number;
}
