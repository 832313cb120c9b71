/** How many chunks there are and how many words they have, which BM25 needs. SQLite's full-text index has both. */
export const chunkTotals = `
/* postgres: create table chunk_totals (chunks bigint not null, words bigint not null) */;
/* postgres: insert into chunk_totals select count(*), coalesce(sum(length), 0) from chunk_words */;
/* postgres: create or replace function count_chunks() returns trigger language plpgsql as 'declare factor integer = case tg_op when ''INSERT'' then 1 else -1 end; begin update chunk_totals set chunks = chunks + factor * (select count(*) from changed), words = words + factor * (select coalesce(sum(length), 0) from changed); return null; end' */;
/* postgres: create trigger count_added after insert on chunk_words referencing new table as changed for each statement execute function count_chunks() */;
/* postgres: create trigger count_removed after delete on chunk_words referencing old table as changed for each statement execute function count_chunks() */;
`;
