/** State of a batch of writes that is not in rows: the event counter, and what to announce after the commit. */
export interface BatchState {
  seq: number;
  runnable: boolean;
}
