import { type RawBuilder, sql } from 'kysely';
import { type ChunkWords, type FoundChunk, PHRASE_WEIGHT } from './chunk-query.ts';
import type { Queries } from './query.ts';

const K1 = 1.2;
const B = 0.75;
/** A word in so many chunks is common; how common does not matter any more, and to count on would take long. */
const COMMON = 10_000;
/** Chunks are looked at that have one of the rarest words, as many words as have about so many chunks between them. */
const MOST_LOOKED_AT = 5_000;
/** Of those the most promising are weighed exactly, at least so many. */
const LEAST_WEIGHED = 200;

interface Weighed {
  readonly rowid: number;
  readonly length: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly phrases: readonly boolean[];
}

/**
 * BM25 where the engine has none: `ts_rank` does not know how rare a word is, and that is most of what makes a good rank.
 * The first pass finds what has the rarest words and sums how rare those are that it has; the second counts them.
 */
export async function findByBm25(
  { db, fetch }: Queries,
  { words, phrases }: Required<ChunkWords>,
  { limit, condition }: { readonly limit: number; readonly condition: RawBuilder<boolean> | null },
): Promise<FoundChunk[]> {
  const ask = <R>(query: RawBuilder<R>) => fetch({ compile: () => query.compile(db) });
  const terms = [
    ...words.map((word) => `'${word}'`),
    ...phrases.map((p) => p.map((word) => `'${word}'`).join(' <-> ')),
  ];
  const [total] = await ask(sql<{ n: number }>`select count(*)::int as n from chunk_words`);
  const frequencies = await ask(sql<{ n: number }>`
    select (select count(*)::int from
      (select 1 from chunk_words where words @@ term::tsquery limit ${COMMON}) as having_it) as n
    from unnest(${terms}::text[]) with ordinality as asked (term, nth) order by nth`);
  const idf = frequencies.map(({ n }) => Math.log(1 + ((total?.n ?? 0) - n + 0.5) / (n + 0.5)));
  const weights = idf.map((rarity, i) => (i < words.length ? rarity : PHRASE_WEIGHT * rarity));
  const looked = rarest(frequencies.map(({ n }, i) => ({ n, term: terms[i] as string })));
  if (looked.length === 0) return [];
  const rows = await ask(sql<Weighed>`
    with promising as (
      select chunk_words.rowid, chunk_words.words,
        (select sum(asked.weight) from unnest(${terms}::text[], ${weights}::float8[]) as asked (term, weight)
         where chunk_words.words @@ asked.term::tsquery) as promise
      from chunk_words
      ${condition ? sql`join chunks on chunks.id = chunk_words.rowid join documents on documents.id = chunks.document_id` : sql``}
      where chunk_words.words @@ ${looked.join(' | ')}::tsquery ${condition ? sql`and ${condition}` : sql``}
      order by promise desc, rowid limit ${Math.max(LEAST_WEIGHED, limit)}
    )
    select rowid, length(words) as length,
      (select coalesce(json_object_agg(word.lexeme, cardinality(word.positions)), '{}')
       from unnest(words) as word where word.lexeme = any(${words}::text[])) as counts,
      array(select words @@ phrase::tsquery
        from unnest(${terms.slice(words.length)}::text[]) with ordinality as asked (phrase, nth) order by nth) as phrases
    from promising`);
  const mean = rows.reduce((sum, { length }) => sum + length, 0) / rows.length;
  const score = ({ length, counts, phrases: has }: Weighed): number => {
    const gain = (n: number) => (n * (K1 + 1)) / (n + K1 * (1 - B + (B * length) / mean));
    const ofWords = words.reduce((sum, word, i) => sum + (idf[i] as number) * gain(counts[word] ?? 0), 0);
    return has.reduce((sum, is, i) => sum + (is ? (weights[words.length + i] as number) * gain(1) : 0), ofWords);
  };
  return rows
    .map((row) => ({ chunk_id: row.rowid, score: score(row) }))
    .sort((a, b) => b.score - a.score || a.chunk_id - b.chunk_id)
    .slice(0, limit);
}

function rarest(terms: readonly { readonly n: number; readonly term: string }[]): string[] {
  let room = MOST_LOOKED_AT;
  const chosen: string[] = [];
  for (const { n, term } of terms.filter((one) => one.n > 0).sort((a, b) => a.n - b.n)) {
    if (chosen.length > 0 && n > room) break;
    room -= n;
    chosen.push(`(${term})`);
  }
  return chosen;
}
