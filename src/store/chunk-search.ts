import { sql } from 'kysely';
import type { ChunkId } from '../core/ids.ts';
import { ANY_CHUNK, filterOf, LEAST_WEIGHT, mostOf, PHRASE_WEIGHT } from './chunk-query.ts';
import type { Documents } from './document-tx.ts';
import { isOneOf, listOf } from './key-list.ts';
import { findByBm25 } from './postgres-bm25.ts';
import type { Queries } from './query.ts';
import type { ChunkFilter, ChunkView, ChunkWords, FoundChunk } from './views.ts';

export type ChunkSearchQueries = Pick<
  Documents,
  'findChunks' | 'listChunkKeys' | 'listChunkViews' | 'listTerms' | 'listUnknownWords'
>;

export function chunkSearchQueries(queries: Queries): ChunkSearchQueries {
  const { engine, db, all, one, count, fetch } = queries;
  const ranked = sql<number>`-bm25(chunk_words)`;
  const findAll = all((p: { query: string; limit: number }) =>
    db
      .selectFrom('chunk_words')
      .select(['rowid as chunkId', ranked.as('score')])
      .where(sql<boolean>`chunk_words match ${p.query}`)
      .orderBy('score', 'desc')
      .orderBy('rowid')
      .limit(p.limit),
  );
  const findSome = (query: string, limit: number, condition: ReturnType<typeof filterOf>) =>
    fetch(
      db
        .selectFrom(
          db
            .selectFrom('chunk_words')
            .select(['rowid', ranked.as('score')])
            .where(sql<boolean>`chunk_words match ${query}`)
            .limit(-1)
            .as('found'),
        )
        // SQLite joins the tables of a cross join in this order, so it looks up the matches.
        .crossJoin('chunks')
        .crossJoin('documents')
        .select(['found.rowid as chunkId', 'found.score'])
        .whereRef('chunks.id', '=', 'found.rowid')
        .whereRef('documents.id', '=', 'chunks.documentId')
        .where(condition as NonNullable<typeof condition>)
        .orderBy('found.score', 'desc')
        .orderBy('found.rowid')
        .limit(limit),
    );

  const listViews = all((p: { ids: unknown }) =>
    db
      .selectFrom('chunks')
      .innerJoin('documents', 'documents.id', 'chunks.documentId')
      .select(['chunks.id', 'chunks.documentId', 'chunks.idx', 'chunks.place', 'chunks.text'])
      .select(['documents.title', 'documents.source', 'documents.sourceId', 'documents.url'])
      .select('documents.updatedAt')
      .where(isOneOf(engine, 'chunks.id', p.ids)),
  );

  const listTerms = all((p: { after: string; limit: number }) =>
    db.selectFrom('chunk_terms').select('term').where('term', '>', p.after).orderBy('term').limit(p.limit),
  );
  const anyWith = all((p: { query: string }) =>
    db.selectFrom('chunk_words').select('rowid').where(sql<boolean>`chunk_words match ${p.query}`).limit(1),
  );
  const countChunks = count(() => db.selectFrom('chunks').select((eb) => eb.fn.countAll<number>().as('n')));
  const countWith = one((p: { term: string }) => db.selectFrom('chunk_terms').select('doc').where('term', '=', p.term));
  /** As FTS5 weighs words. */
  const weightsOf = async (words: readonly string[]): Promise<Map<string, number>> => {
    const chunks = await countChunks();
    const weights = new Map<string, number>();
    for (const term of new Set(words)) {
      const having = (await countWith({ term }))?.doc ?? 0;
      weights.set(term, Math.max(LEAST_WEIGHT, Math.log((chunks - having + 0.5) / (having + 0.5))));
    }
    return weights;
  };
  const postgresTerms = (p: { after: string; limit: number }) => {
    const query = sql<{ term: string }>`
      select word as term from ts_stat('select words from chunk_words') where word > ${p.after} order by word limit ${p.limit}`;
    return fetch({ compile: () => query.compile(db) });
  };
  const postgresUnknown = (words: readonly string[]) => {
    const query = sql<{ word: string }>`
      select word from unnest(${listOf('postgres', words)}::text[]) as asked (word)
      where not exists (select from chunk_words where words @@ quote_literal(word)::tsquery)`;
    return fetch({ compile: () => query.compile(db) });
  };

  return {
    listTerms: async (p: { after: string; limit: number }) =>
      (engine === 'sqlite' ? await listTerms(p) : await postgresTerms(p)).map(({ term }) => term),
    listUnknownWords: async ({ words }: { words: readonly string[] }) => {
      if (engine === 'postgres') return (await postgresUnknown(words)).map(({ word }) => word);
      const unknown: string[] = [];
      for (const word of words) if ((await anyWith({ query: `"${word}"` })).length === 0) unknown.push(word);
      return unknown;
    },
    /** Chunks with any of the words, ranked by BM25. */
    findChunks: async ({
      words,
      phrases = [],
      limit,
      filter = ANY_CHUNK,
    }: ChunkWords & { limit: number; filter?: ChunkFilter }): Promise<FoundChunk[]> => {
      if (words.length === 0) return [];
      const condition = filterOf(engine, filter);
      if (engine === 'postgres') return findByBm25(queries, { words, phrases }, { limit, condition });
      const query = matchOf({ words, phrases });
      const found = await (condition ? findSome(query, limit, condition) : findAll({ query, limit }));
      if (found.length === 0) return [];
      const most = mostOf({ words, phrases }, await weightsOf(words));
      return found.map((one) => ({ ...one, most }));
    },
    /** The keys of all chunks that match a filter. */
    listChunkKeys: async ({ filter }: { filter: ChunkFilter }): Promise<ChunkId[]> => {
      const condition = filterOf(engine, filter) ?? sql<boolean>`1 = 1`;
      const query = db
        .selectFrom('documents')
        .innerJoin('chunks', 'chunks.documentId', 'documents.id')
        .select('chunks.id')
        .where(condition)
        .orderBy('chunks.id');
      return (await fetch(query)).map(({ id }) => id);
    },
    /** Those that still exist, in no order. */
    listChunkViews: ({ ids }: { ids: readonly ChunkId[] }): Promise<ChunkView[]> =>
      listViews({ ids: listOf(engine, ids) }),
  };
}

/** The query in FTS5 syntax. */
function matchOf({ words, phrases }: Required<ChunkWords>): string {
  const repeated = phrases.flatMap((phrase) => Array<string>(PHRASE_WEIGHT).fill(`"${phrase.join(' ')}"`));
  return [...words.map((word) => `"${word}"`), ...repeated].join(' OR ');
}
