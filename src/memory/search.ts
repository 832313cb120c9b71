import type { FoundPassage, Passage, PassageMeaning } from '../core/memory.ts';
import { coverage, fromZeroToOne, passageQuery } from '../search/search.ts';
import type { PassageFilter, RankedPassage, Store } from '../store/store.ts';
import { nearTerms } from './near-terms.ts';
import type { Tx } from './tx.ts';

/** Longer queries are only matched by words: nobody remembers a page verbatim. */
const MAX_SUBSTRING = 200;
/** Candidates of each kind of search per result. */
const DEEPER = 4;
/** The weight of meaning against words: with `bench:quality`, the best for the dialogues to tune on. */
const ALPHA = 0.7;
/** The weight of what stands in the place of a word that no passage has, as in documents. */
const NEAR_WEIGHT = 0.5;
/** Near-ties are decided by age: the newest of the candidates gets this much, the oldest nothing. */
const RECENCY = 0.01;

export const EVERYTHING = { tags: [], since: 0, until: Number.MAX_SAFE_INTEGER } as const;

export interface Wanted extends PassageFilter {
  readonly query: string;
  readonly limit: number;
}

interface Dependencies {
  readonly store: Pick<Store, 'read'>;
  /** Null where embeddings are disabled: then only words count. */
  readonly meaning: PassageMeaning | null;
}

/**
 * The agent's passages that match best, by words and by meaning. Those that only contain the query as a substring come
 * last. Only the agent's own passages decide about the order.
 */
export async function searchPassages(
  { store, meaning }: Dependencies,
  wanted: Wanted,
  signal?: AbortSignal,
): Promise<FoundPassage[]> {
  const { query, limit, ...filter } = wanted;
  const near = (await meaning?.nearest({ agentId: filter.agentId, query, limit: DEEPER * limit })) ?? [];
  const search = async (tx: Tx) => {
    const words = await byWords(tx, wanted);
    const known = new Set(words.map(({ seq }) => seq));
    const further = near.map(({ seq }) => seq).filter((seq) => !known.has(seq));
    const others = further.length === 0 ? [] : await tx.memory.listPassagesBySeq({ ...filter, seqs: further });
    const found = ranked(words, others, new Map(near.map(({ seq, score }) => [seq, score]))).slice(0, limit);
    if (found.length >= limit) return found;
    const shown = new Set(found.map(({ seq }) => seq));
    const containing = (await bySubstring(tx, wanted)).filter(({ seq }) => !shown.has(seq));
    return [...found, ...containing.map((passage) => ({ ...passage, score: 0 }))].slice(0, limit);
  };
  return store.read(search, { long: true, signal });
}

/** By the query's words, and by those that stand in the place of words that no passage has. */
async function byWords(tx: Tx, { query, limit, ...filter }: Wanted): Promise<RankedPassage[]> {
  const terms = passageQuery(query);
  const find = (asked: typeof terms) => tx.memory.findPassages({ ...filter, terms: asked, limit: DEEPER * limit });
  const exact = await find(terms);
  const near = await nearTerms(tx, filter.agentId, query, terms);
  if (near.words.length === 0) return exact;
  const found = new Map(exact.map((passage) => [passage.seq, passage]));
  const others = await find(near);
  const most = exact[0]?.most ?? others[0]?.most ?? 0;
  for (const passage of others) {
    const score = (found.get(passage.seq)?.score ?? 0) + NEAR_WEIGHT * passage.score;
    found.set(passage.seq, { ...passage, score, most });
  }
  return [...found.values()].sort((a, b) => b.score - a.score || b.seq - a.seq).slice(0, DEEPER * limit);
}

function ranked(
  words: readonly RankedPassage[],
  others: readonly Passage[],
  meant: ReadonlyMap<number, number>,
): FoundPassage[] {
  const all = [...words, ...others.map((passage) => ({ ...passage, score: 0, most: 0 }))];
  const seqs = all.map(({ seq }) => seq).sort((a, b) => a - b);
  const recency = new Map(seqs.map((seq, i) => [seq, (RECENCY * (i + 1)) / seqs.length]));
  // Where meaning says nothing, words alone decide.
  const alpha = meant.size === 0 ? 0 : ALPHA;
  const close = (seq: number) => meant.get(seq) ?? 0;
  const scoreOf = ({ seq, score, most }: RankedPassage): number =>
    ((1 - alpha) * coverage(score, most) + alpha * close(seq) + (recency.get(seq) ?? 0)) / (1 + RECENCY);
  return all
    .filter((passage) => passage.score > 0 || close(passage.seq) > 0)
    .map(({ most, ...passage }) => ({ ...passage, score: scoreOf({ ...passage, most }) }))
    .sort((a, b) => b.score - a.score || b.seq - a.seq)
    .map((passage) => ({ ...passage, score: fromZeroToOne(passage.score) }));
}

async function bySubstring(tx: Tx, { query, limit, ...filter }: Wanted): Promise<Passage[]> {
  const text = query.trim();
  if (text === '' || text.length > MAX_SUBSTRING) return [];
  return tx.memory.findPassagesContaining({ ...filter, text, limit });
}
