/**
 * In which order vectors came, so that whoever holds them in memory reads only the new ones. The numbers never fall, not even
 * when the newest vector is deleted; that is why they are counted in a row of their own.
 */
export const vectors = `
create table vector_state (id integer primary key, seq bigint not null);
insert into vector_state (id, seq) values (1, 0);
alter table chunk_vectors add column seq bigint not null default 0;
create index chunk_vectors_seq on chunk_vectors (model, seq);
`;
