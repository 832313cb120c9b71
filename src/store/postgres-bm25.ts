import { type RawBuilder, sql } from 'kysely';
import { LEAST_WEIGHT, mostOf, PHRASE_WEIGHT } from './chunk-query.ts';
import { listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { ChunkWords, FoundChunk } from './views.ts';

const K1 = 1.2;
const B = 0.75;
/**
 * A word in this many chunks is common: counting further would take long, so its count comes from the server's
 * statistics. From as many chunks on, their number and mean length are estimates too.
 */
const COMMON = 10_000;
/** The minimum number of candidates that are scored exactly. */
const LEAST_WEIGHED = 200;

interface Weighed {
  readonly rowid: number;
  readonly length: number;
  /** The mean of all chunks. */
  readonly mean: number;
  /** Of the query's words in the chunk. */
  readonly positions: Readonly<Record<string, readonly number[]>>;
  /** The weights of the query's words, then phrases: the rarer, the heavier. */
  readonly weights: readonly number[];
}

/**
 * BM25 for PostgreSQL, with the same scores as FTS5's: `ts_rank` ignores how rare a word is, which matters most for
 * ranking. The index returns the chunks with each word, and so its rarity; the chunks with the most and rarest
 * words are scored by term frequency. For a common word only some chunks are fetched, so whether a candidate contains
 * it is checked on the chunk itself.
 */
export async function findByBm25(
  { db, fetch }: Queries,
  asked: Required<ChunkWords>,
  { limit, condition }: { readonly limit: number; readonly condition: RawBuilder<boolean> | null },
): Promise<FoundChunk[]> {
  const { words, phrases } = asked;
  const terms = [
    ...words.map((word) => `'${word}'`),
    ...phrases.map((p) => p.map((word) => `'${word}'`).join(' <-> ')),
  ];
  // With a filter, a word is still as rare as it is among all chunks.
  const counted = condition
    ? sql`select count(*) as n from (select from chunk_words where words @@ asked.term::tsquery limit ${COMMON}) as having_it`
    : sql`select count(*) as n from hits where hits.nth = asked.nth`;
  const query = sql<Weighed>`
    with asked as (
      select term, nth, case when nth > ${words.length} then ${PHRASE_WEIGHT} else 1 end as times
      from unnest(${listOf('postgres', terms)}::text[]) with ordinality as given (term, nth)
    ), hits as materialized (
      select asked.nth, found.rowid from asked cross join lateral (
        select rowid from (select rowid from chunk_words where words @@ asked.term::tsquery offset 0) as having_it
        ${condition ? sql`where ${ofItsDocument(condition)}` : sql``} limit ${COMMON}
      ) as found
    ), estimate as materialized (
      select greatest(reltuples, 1)::float8 as chunks from pg_class where oid = 'chunk_words'::regclass
    ), total as materialized (
      select (case when estimate.chunks < ${COMMON} then count(*) else estimate.chunks end)::float8 as chunks,
        coalesce(avg(length), 1)::float8 as mean
      from chunk_words tablesample system ((select least(100, 100 * ${COMMON} / chunks) from estimate)) repeatable (1), estimate
      group by estimate.chunks
    ), counts as materialized (
      select nth, term, times, n >= ${COMMON} as common, chunks, case when n < ${COMMON} then n::float8 else greatest(n, (
          select chunks * freq from pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) as word (lexeme, freq)
          where schemaname = current_schema() and tablename = 'chunk_words' and attname = 'words' and term = quote_literal(lexeme)
        )) end as n
      from asked join total on true left join lateral (${counted}) as having_it on true
    ), weighted as materialized (select nth, term, common, times * greatest(
      ${LEAST_WEIGHT}::float8, ln((greatest(chunks, n) - n + 0.5) / (n + 0.5))) as weight from counts
    ), candidates as (
      select rowid, coalesce(sum(weight) filter (where not common), 0) as promise
      from hits join weighted using (nth) group by rowid
    ), promising as (
      select rowid, promise + case when (select bool_or(common) from weighted) then coalesce(
        (select sum(weight) from chunk_words join weighted on chunk_words.words @@ weighted.term::tsquery
         where chunk_words.rowid = candidates.rowid and common), 0) else 0 end as promise
      from candidates order by promise desc, rowid limit ${Math.max(LEAST_WEIGHED, limit)}
    )
    select rowid, length, (select mean from total) as mean,
      (select coalesce(json_object_agg(word.lexeme, word.positions), '{}') from unnest(words) as word
       where word.lexeme = any(${listOf('postgres', [...new Set([...words, ...phrases.flat()])])}::text[])) as positions,
      (select array_agg(weight order by nth) from weighted) as weights
    from promising join chunk_words using (rowid)`;
  const rows = await fetch({ compile: () => query.compile(db) });
  return bestOf(rows, asked).slice(0, limit);
}

/** Checked per chunk found: the planner would otherwise read all documents first. */
function ofItsDocument(condition: RawBuilder<boolean>): RawBuilder<boolean> {
  return sql`(select ${condition} from chunks join documents on documents.id = chunks.document_id where chunks.id = having_it.rowid)`;
}

function bestOf(rows: readonly Weighed[], { words, phrases }: Required<ChunkWords>): FoundChunk[] {
  const [first] = rows;
  if (!first) return [];
  const { weights, mean } = first;
  const most = mostOf({ words, phrases }, new Map(words.map((word, i) => [word, weights[i] as number])));
  const score = ({ length, positions }: Weighed): number => {
    const gain = (n: number) => (n * (K1 + 1)) / (n + K1 * (1 - B + (B * length) / mean));
    const times = [
      ...words.map((word) => positions[word]?.length ?? 0),
      ...phrases.map((phrase) => timesOf(phrase, positions)),
    ];
    return times.reduce((sum, n, i) => sum + (weights[i] as number) * gain(n), 0);
  };
  return rows
    .map((row) => ({ chunkId: row.rowid, score: score(row), most }))
    .sort((a, b) => b.score - a.score || a.chunkId - b.chunkId);
}

function timesOf([first = '', ...others]: readonly string[], positions: Weighed['positions']): number {
  const following = others.map((word) => new Set(positions[word]));
  return (positions[first] ?? []).filter((at) => following.every((places, i) => places.has(at + i + 1))).length;
}
