/** The words of the index of chunks, so that a query word that is in no chunk finds the nearest ones. SQLite only. */
export const terms = `
/* sqlite: create virtual table chunk_terms using fts5vocab (chunk_words, row) */;
`;
