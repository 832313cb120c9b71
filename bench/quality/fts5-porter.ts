import Database from 'better-sqlite3';
import type { Collection } from './collection.ts';
import type { Ranker } from './rankings.ts';

/** The baseline that needs no program: FTS5 with its Porter tokenizer, all words optional, its own BM25. */
export function fts5Porter({ documents }: Pick<Collection, 'documents'>): Ranker {
  const database = new Database(':memory:');
  database.exec(`create virtual table found using fts5 (id unindexed, title, body, tokenize = 'porter unicode61')`);
  const insert = database.prepare('insert into found values (?, ?, ?)');
  for (const { id, title, body } of documents) insert.run(id, title, body);
  const select = database
    .prepare('select id from found where found match ? order by bm25(found), rowid limit ?')
    .pluck();
  return async (query, limit) => {
    const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
    return words.length === 0 ? [] : (select.all(words.map((word) => `"${word}"`).join(' OR '), limit) as string[]);
  };
}
