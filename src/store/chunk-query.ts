import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './query.ts';
import type { ChunkFilter, ChunkWords } from './views.ts';

/**
 * A phrase counts as this many words of its own rarity. That ranks a text with the phrase above every text that only
 * repeats its words: BM25 gives a word at most 2.2 times the score of its first occurrence.
 */
export const PHRASE_WEIGHT = 3;

/** FTS5's weight of a word that more than half of the chunks have. */
export const LEAST_WEIGHT = 1e-6;

/** The score of a chunk of mean length with all words. A phrase counts as rare as its rarest word. */
export function mostOf({ words, phrases }: Required<ChunkWords>, weights: ReadonlyMap<string, number>): number {
  const weightOf = (word: string) => weights.get(word) ?? 0;
  const ofWords = words.reduce((sum, word) => sum + weightOf(word), 0);
  return phrases.reduce((sum, phrase) => sum + PHRASE_WEIGHT * Math.max(...phrase.map(weightOf)), ofWords);
}

export const ANY_CHUNK: ChunkFilter = { source: null, tags: [], since: null, until: null };

/** A condition on `documents`; null if there is no filter. */
export function filterOf(engine: Engine, filter: ChunkFilter): RawBuilder<boolean> | null {
  const position = sql.raw(engine === 'sqlite' ? 'instr' : 'strpos');
  const { source, tags, since, until } = filter;
  const conditions = tags.map((tag) => sql<boolean>`${position}(documents.tags, ${JSON.stringify(tag)}) > 0`);
  if (source?.includes(':')) conditions.push(sql`documents.source = ${source}`);
  else if (source !== null) {
    conditions.push(sql`substr(documents.source, ${position}(documents.source, ':') + 1) = ${source}`);
  }
  if (since !== null) conditions.push(sql`documents.updated_at >= ${since}`);
  if (until !== null) conditions.push(sql`documents.updated_at < ${until}`);
  return conditions.length === 0 ? null : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}
