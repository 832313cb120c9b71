import type { Part } from '../store/store.ts';

/** What messaging may touch in a transaction: conversations, and the runs that they wake or end. */
export type Tx = Part<
  | 'agents'
  | 'attachments'
  | 'broadcasts'
  | 'budgets'
  | 'channels'
  | 'deliveries'
  | 'events'
  | 'messages'
  | 'participants'
  | 'questions'
  | 'records'
  | 'reminders'
  | 'requests'
  | 'rounds'
  | 'runs'
  | 'schedules'
  | 'settings'
  | 'subscriptions'
  | 'timers'
  | 'trees'
>;

/** To remove agents for good. */
export type DeletingTx = Tx & Part<'deletions'>;

/** To resolve what a person typed, which may be the end of an id. */
export type TypedTx = Tx & Part<'ids'>;
