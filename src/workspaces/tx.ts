import type { Part } from '../store/store.ts';

/** What workspaces may touch in a transaction: their rows and ids, and the agents that work in them. */
export type Tx = Part<'agents' | 'ids' | 'leftovers' | 'wips' | 'workspaces'>;
