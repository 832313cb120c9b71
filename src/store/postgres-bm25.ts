import { type RawBuilder, sql } from 'kysely';
import { LEAST_WEIGHT, mostOf, PHRASE_WEIGHT } from './chunk-query.ts';
import { listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { ChunkWords, FoundChunk } from './views.ts';

const K1 = 1.2;
const B = 0.75;
/** The most chunks that are read for a word: more take too long. */
const COMMON = 10_000;
/** From this many chunks on, the server's statistics say well enough how common a word is. */
const LEAST_ESTIMATED = 2_000;
/** The minimum number of candidates that are scored exactly. */
const LEAST_WEIGHED = 200;

interface Weighed {
  readonly rowid: number;
  readonly length: number;
  /** The mean of all chunks. */
  readonly mean: number;
  /** `ts_rank` of each of the query's words. */
  readonly ranks: readonly number[];
  /** Of the words of phrases in the chunk. */
  readonly positions: Readonly<Record<string, readonly number[]>>;
  /** The weights of the query's words, then phrases: the rarer, the heavier. */
  readonly weights: readonly number[];
}

/**
 * BM25 for PostgreSQL, with the same scores as FTS5's: `ts_rank` ignores how rare a word is, which matters most for
 * ranking. The index returns the chunks with each word, and so its rarity; the chunks with the most and rarest
 * words are scored by term frequency. How rare a frequent word is comes from the server's statistics. If enough chunks
 * have a word that outweighs it and all more frequent ones together (it is `outweighed`), it cannot add a candidate: then
 * only the chunks that also have another word are read.
 */
export async function findByBm25(
  { db, fetch }: Queries,
  asked: Required<ChunkWords>,
  { limit, condition }: { readonly limit: number; readonly condition: RawBuilder<boolean> | null },
): Promise<FoundChunk[]> {
  const { words, phrases } = asked;
  const weighed = Math.max(LEAST_WEIGHED, limit);
  const terms = [
    ...words.map((word) => `'${word}'`),
    ...phrases.map((p) => p.map((word) => `'${word}'`).join(' <-> ')),
  ];
  const having = (term: RawBuilder<string>) => sql`
    select rowid from (select rowid from chunk_words where words @@ ${term}::tsquery offset 0) as having_it
    ${condition ? sql`where ${ofItsDocument(condition)}` : sql``} limit ${COMMON}`;
  // With a filter, a word is still as rare as it is among all chunks.
  const counted = condition
    ? sql`select count(*) from (select from chunk_words where words @@ estimated.term::tsquery limit ${COMMON}) as having_it`
    : sql`found`;
  const query = sql<Weighed>`
    with totals as materialized (
      select coalesce(sum(chunks), 0)::float8 as chunks, coalesce(sum(words), 0)::float8 as words from chunk_totals
    ), asked as (
      select term, nth, case when nth > ${words.length} then ${PHRASE_WEIGHT} else 1 end as times
      from unnest(${listOf('postgres', terms)}::text[]) with ordinality as given (term, nth)
    ), estimated as materialized (
      select term, nth, times, chunks, case when chunks * freq >= ${LEAST_ESTIMATED} then chunks * freq end as estimate
      from asked cross join totals left join (
        select quote_literal(lexeme) as term, freq
        from pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) as word (lexeme, freq)
        where schemaname = current_schema() and tablename = 'chunk_words' and attname = 'words' and lexeme = any(${listOf('postgres', words)}::text[])
      ) as statistics using (term)
    ), rare as materialized (
      select nth, found.rowid from estimated cross join lateral (${having(sql`estimated.term`)}) as found where estimate is null
    ), counts as materialized (
      select *, case when estimate is null then (${counted}) else estimate end as n
      from estimated left join (select nth, count(*) as found from rare group by nth) as hits using (nth)
    ), weighted as materialized (
      select nth, term, n, coalesce(found, case when ${condition === null} then estimate else 0 end, 0) as found,
        estimate is not null or n >= ${COMMON} as frequent,
        times * greatest(${LEAST_WEIGHT}::float8, ln((greatest(chunks, n) - n + 0.5) / (n + 0.5))) as weight
      from (select nth, term, times, chunks, estimate, found, coalesce(n, 0) as n from counts) as known
    ), judged as materialized (
      select nth, term, weight, frequent, frequent and coalesce(
        sum(weight) filter (where frequent) over (order by weight, nth desc)
          <= max(weight) filter (where found >= ${weighed})
            over (order by weight desc, nth rows between unbounded preceding and 1 preceding), false) as outweighed
      from weighted
    ), hits as (
      select nth, rowid from rare join judged using (nth) where not frequent
      union all
      select nth, found.rowid from judged cross join lateral (${having(sql`(case when outweighed
        then '(' || (select string_agg(term, ' | ') from judged where not outweighed) || ') & ' || term else term end)`)}) as found
      where frequent
    ), promising as (
      select rowid from hits join judged using (nth) group by rowid order by sum(weight) desc, rowid limit ${weighed}
    )
    select rowid, length, (select case when chunks > 0 and totals.words > 0 then totals.words / chunks else 1 end from totals) as mean,
      (select array_agg(ts_rank('{1, 1, 1, 1}', words, term::tsquery) order by nth) from asked where nth <= ${words.length}) as ranks,
      ${phrases.length === 0 ? sql`'{}'::json` : positionsOf(phrases.flat())} as positions,
      (select array_agg(weight order by nth) from weighted) as weights
    from promising join chunk_words using (rowid)`;
  const rows = await fetch({ compile: () => query.compile(db) });
  return bestOf(rows, asked).slice(0, limit);
}

/** Reading every word of a chunk takes ten times as long as ranking it. */
function positionsOf(words: readonly string[]): RawBuilder<unknown> {
  return sql`(select coalesce(json_object_agg(word.lexeme, word.positions), '{}') from unnest(words) as word
    where word.lexeme = any(${listOf('postgres', [...new Set(words)])}::text[]))`;
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
  const score = ({ length, ranks, positions }: Weighed): number => {
    const gain = (n: number) => (n * (K1 + 1)) / (n + K1 * (1 - B + (B * length) / mean));
    const times = [...ranks.map(timesRanked), ...phrases.map((phrase) => timesOf(phrase, positions))];
    return times.reduce((sum, n, i) => sum + (weights[i] as number) * gain(n), 0);
  };
  return rows
    .map((row) => ({ chunkId: row.rowid, score: score(row), most }))
    .sort((a, b) => b.score - a.score || a.chunkId - b.chunkId);
}

/** How often a word is in a chunk. */
function timesRanked(rank: number): number {
  let n = 0;
  while (n < MOST_TIMES && rank > ((RANKS[n] as number) + (RANKS[n + 1] as number)) / 2) n += 1;
  return n;
}

/** A tsvector has at most this many positions of a word. */
const MOST_TIMES = 255;
/**
 * With equal weights, `ts_rank` of a word that is in a chunk n times is 1/1² + 1/2² + … + 1/n², divided by the limit of
 * this sum, in single precision. No function of the server tells n itself without reading all words of the chunk.
 */
const RANKS: readonly number[] = ranksUpTo(MOST_TIMES);

function ranksUpTo(most: number): number[] {
  let sum = 0;
  return Array.from({ length: most + 1 }, (_, n) => {
    if (n > 0) sum = Math.fround(sum + Math.fround(1 / n ** 2));
    return sum / (Math.PI ** 2 / 6);
  });
}

function timesOf([first = '', ...others]: readonly string[], positions: Weighed['positions']): number {
  const following = others.map((word) => new Set(positions[word]));
  return (positions[first] ?? []).filter((at) => following.every((places, i) => places.has(at + i + 1))).length;
}
