import { type ChunkQuery, MOST_TYPED, type NearQuery, NOTHING_NEAR, nearQueryOf } from '../search/search.ts';
import type { Store } from '../store/store.ts';
import type { Vocabulary } from './vocabulary.ts';

export async function nearQuery(
  store: Store,
  vocabulary: Vocabulary,
  text: string,
  asked: ChunkQuery,
): Promise<NearQuery> {
  if (asked.words.length === 0 || asked.words.length > MOST_TYPED) return NOTHING_NEAR;
  const unknown = await store.read((tx) => tx.documents.listUnknownWords({ words: asked.words }));
  const known = unknown.length === 0 ? null : await vocabulary.get();
  return nearQueryOf(text, unknown, (typed, stem) => known?.near(typed, stem) ?? null);
}
