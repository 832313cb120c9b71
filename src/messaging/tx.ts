import type { Part } from '../store/store.ts';

/** What messaging may touch in a transaction: conversations, and the runs that they wake or end. */
export type Tx = Part<
  | 'agents'
  | 'attachments'
  | 'broadcasts'
  | 'channels'
  | 'deliveries'
  | 'events'
  | 'messages'
  | 'participants'
  | 'records'
  | 'reminders'
  | 'requests'
  | 'rounds'
  | 'runs'
  | 'timers'
  | 'trees'
>;
