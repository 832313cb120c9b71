/** State of a batch of writes that is not in rows, and what to announce after the commit. */
export interface BatchState {
  /**
   * The number of the last event, which is also that of the rows stored with it. On PostgreSQL always 0: rows are
   * numbered by the server, events after the commit (migrations/0030-writers.ts).
   */
  seq: number;
  /** How many events were appended. */
  events: number;
  runnable: boolean;
}
