import type { Part } from '../store/store.ts';

/** What memory may touch in a transaction: blocks, passages and their events. */
export type Tx = Part<'events' | 'memory'>;
