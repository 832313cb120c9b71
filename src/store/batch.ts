/** What a batch of writes keeps beside the rows: the event counter, and what to tell after the commit. */
export interface BatchState {
  seq: number;
  runnable: boolean;
}
