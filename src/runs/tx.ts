import type { Part } from '../store/store.ts';

/** What runs may touch in a transaction: themselves, what they carry, record and announce, and timers. */
export type Tx = Part<
  | 'agents'
  | 'attachments'
  | 'broadcasts'
  | 'channels'
  | 'conversations'
  | 'deliveries'
  | 'events'
  | 'memory'
  | 'messages'
  | 'nodes'
  | 'participants'
  | 'records'
  | 'reminders'
  | 'requests'
  | 'rounds'
  | 'runs'
  | 'sessions'
  | 'timers'
  | 'trees'
>;
