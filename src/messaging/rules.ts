export interface MessagingRules {
  readonly requestDeadlineMs: number;
  /** Where posts in channels start no more runs. */
  readonly maxChainDepth: number;
  /** How many runs a person's words may start in a day, by their handle. */
  runsPerDay(handle: string): number;
}
