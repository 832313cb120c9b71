/** The number of words of each chunk, which BM25 needs. SQLite's full-text index has it; a tsvector only has positions. */
export const chunkLengths = `
/* postgres: create or replace function word_count(tsvector) returns integer language sql immutable strict parallel safe as 'select coalesce(sum(cardinality(positions)), 0)::integer from pg_catalog.unnest($1)' */;
/* postgres: alter table chunk_words add column length integer generated always as (word_count(words)) stored */;
`;
