import { type RawBuilder, sql } from 'kysely';
import { PHRASE_WEIGHT } from './chunk-query.ts';
import { listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { ChunkWords, FoundChunk } from './views.ts';

const K1 = 1.2;
const B = 0.75;
/** A word in this many chunks is common. The exact count no longer matters, and counting further would take long. */
const COMMON = 10_000;
/** The minimum number of candidates that are scored exactly. */
const LEAST_WEIGHED = 200;

interface Weighed {
  readonly rowid: number;
  readonly length: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly phrases: readonly boolean[];
  /** The weights of the query's words, then phrases: the rarer, the heavier. */
  readonly weights: readonly number[];
}

/**
 * BM25 for PostgreSQL: `ts_rank` ignores how rare a word is, which matters most for ranking. The index returns the
 * chunks with each word, and thereby its rarity; the chunks with the most and rarest words are scored by term
 * frequency. For a common word only some chunks are fetched, so whether a candidate contains it is checked on the
 * chunk itself.
 */
export async function findByBm25(
  { db, fetch }: Queries,
  { words, phrases }: Required<ChunkWords>,
  { limit, condition }: { readonly limit: number; readonly condition: RawBuilder<boolean> | null },
): Promise<FoundChunk[]> {
  const terms = [
    ...words.map((word) => `'${word}'`),
    ...phrases.map((p) => p.map((word) => `'${word}'`).join(' <-> ')),
  ];
  const query = sql<Weighed>`
    with asked as (
      select term, nth, case when nth > ${words.length} then ${PHRASE_WEIGHT} else 1 end as times
      from unnest(${listOf('postgres', terms)}::text[]) with ordinality as given (term, nth)
    ), hits as materialized (
      select asked.nth, found.rowid from asked cross join lateral (
        select rowid from (select rowid from chunk_words where words @@ asked.term::tsquery offset 0) as having_it
        ${condition ? sql`where ${ofItsDocument(condition)}` : sql``} limit ${COMMON}
      ) as found
    ), total as materialized (
      select case when reltuples >= ${COMMON} then reltuples else (select count(*) from chunk_words) end as chunks
      from pg_class where oid = 'chunk_words'::regclass
    ), weighted as materialized (
      select nth, term, n >= ${COMMON} as common, times * ln(1 + (greatest(chunks, n) - n + 0.5) / (n + 0.5)) as weight
      from asked join total on true left join lateral (select count(*) as n from hits where hits.nth = asked.nth) as having_it on true
    ), candidates as (
      select rowid, coalesce(sum(weight) filter (where not common), 0) as promise
      from hits join weighted using (nth) group by rowid
    ), promising as (
      select rowid, promise + case when (select bool_or(common) from weighted) then coalesce(
        (select sum(weight) from chunk_words join weighted on chunk_words.words @@ weighted.term::tsquery
         where chunk_words.rowid = candidates.rowid and common), 0) else 0 end as promise
      from candidates order by promise desc, rowid limit ${Math.max(LEAST_WEIGHED, limit)}
    )
    select rowid, length(words) as length,
      (select coalesce(json_object_agg(word.lexeme, cardinality(word.positions)), '{}')
       from unnest(words) as word where word.lexeme = any(${listOf('postgres', words)}::text[])) as counts,
      array(select words @@ phrase::tsquery
        from unnest(${listOf('postgres', terms.slice(words.length))}::text[]) with ordinality as given (phrase, nth) order by nth) as phrases,
      (select array_agg(weight order by nth) from weighted) as weights
    from promising join chunk_words using (rowid)`;
  const rows = await fetch({ compile: () => query.compile(db) });
  return bestOf(rows, words).slice(0, limit);
}

/** Checked per chunk found: the planner would otherwise read all documents first. */
function ofItsDocument(condition: RawBuilder<boolean>): RawBuilder<boolean> {
  return sql`(select ${condition} from chunks join documents on documents.id = chunks.document_id where chunks.id = having_it.rowid)`;
}

function bestOf(rows: readonly Weighed[], words: readonly string[]): FoundChunk[] {
  const mean = rows.reduce((sum, { length }) => sum + length, 0) / rows.length;
  const most = rows[0]?.weights.reduce((sum, weight) => sum + weight, 0) ?? 0;
  const score = ({ length, counts, phrases, weights }: Weighed): number => {
    const gain = (n: number) => (n * (K1 + 1)) / (n + K1 * (1 - B + (B * length) / mean));
    const ofWords = words.reduce((sum, word, i) => sum + (weights[i] as number) * gain(counts[word] ?? 0), 0);
    return phrases.reduce((sum, is, i) => sum + (is ? (weights[words.length + i] as number) * gain(1) : 0), ofWords);
  };
  return rows
    .map((row) => ({ chunkId: row.rowid, score: score(row), most }))
    .sort((a, b) => b.score - a.score || a.chunkId - b.chunkId);
}
