import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './query.ts';
import type { ChunkFilter } from './views.ts';

/**
 * A phrase counts as so many words as rare as itself. Then a text that has it is above every text that only has its words
 * often: BM25 gives a word at most 2.2 times what it gives for the first occurrence.
 */
export const PHRASE_WEIGHT = 3;

export const ANY_CHUNK: ChunkFilter = { source: null, tags: [], since: null, until: null };

/** A condition on `documents`; null where nothing is asked. */
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
