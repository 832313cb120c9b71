/**
 * The order in which vectors were stored, so that a cache only reads new ones. The numbers never decrease, even when
 * the newest vector is deleted, so they are counted in a separate row.
 */
export const vectors = `
create table vector_state (id integer primary key, seq bigint not null);
insert into vector_state (id, seq) values (1, 0);
alter table chunk_vectors add column seq bigint not null default 0;
create index chunk_vectors_seq on chunk_vectors (model, seq);
`;
