import type { Part } from '../store/store.ts';

/**
 * What the knowledge base may touch in a transaction: its documents, what people type for their ids, and passages, which
 * it finds by meaning.
 */
export type Tx = Part<'documents' | 'ids' | 'memory'>;
