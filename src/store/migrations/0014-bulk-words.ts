/**
 * What a sync writes into the index of words in one transaction becomes one segment, however much it is, and segments are
 * merged when there are eight: so each word is copied less often. Only SQLite has them.
 */
export const bulkWords = `
/* sqlite: insert into chunk_words (chunk_words, rank) values ('hashsize', 16777216) */;
/* sqlite: insert into chunk_words (chunk_words, rank) values ('automerge', 8) */;
`;
