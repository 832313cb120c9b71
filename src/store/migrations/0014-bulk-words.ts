/**
 * One transaction of a sync becomes one segment of the full-text index, whatever its size, and segments are merged at
 * eight, so each word is copied less often. SQLite only.
 */
export const bulkWords = `
/* sqlite: insert into chunk_words (chunk_words, rank) values ('hashsize', 16777216) */;
/* sqlite: insert into chunk_words (chunk_words, rank) values ('automerge', 8) */;
`;
