import type { Part } from '../store/store.ts';

/** What the knowledge base may touch in a transaction: its documents. */
export type Tx = Part<'documents'>;
