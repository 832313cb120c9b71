/** The words of the index of passages, each once, so that a query word that no passage has finds the nearest ones. SQLite only. */
export const passageVocabulary = `
/* sqlite: create virtual table passage_vocabulary using fts5vocab (passage_words, row) */;
`;
