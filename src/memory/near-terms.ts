import {
  type ChunkQuery,
  MOST_TYPED,
  type NearQuery,
  type NearWords,
  NOTHING_NEAR,
  nearQueryOf,
  nearWordsOf,
} from '../search/search.ts';
import type { Tx } from './tx.ts';

/** Words with the same beginning are few; more than this many are not compared. */
const MOST_TERMS = 2000;
/** Typos are rare in the first letters. Only the first one is compared if the second may be part of an umlaut. */
const BEGINNING = 2;
const UMLAUT = /^[aou]e/;

/** The same help as in documents, with the words of the agent's own passages. */
export async function nearTerms(tx: Tx, agentId: string, query: string, asked: ChunkQuery): Promise<NearQuery> {
  if (asked.words.length === 0 || asked.words.length > MOST_TYPED) return NOTHING_NEAR;
  const unknown = await tx.memory.listUnknownPassageWords({ agentId, words: asked.words });
  const known = new Map<string, NearWords>();
  for (const stem of unknown) {
    const beginning = [...stem].slice(0, UMLAUT.test(stem) ? 1 : BEGINNING).join('');
    known.set(stem, nearWordsOf(await tx.memory.listPassageTerms({ agentId, beginning, limit: MOST_TERMS })));
  }
  return nearQueryOf(query, unknown, (typed, stem) => known.get(stem)?.near(typed, stem) ?? null);
}
