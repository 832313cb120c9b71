/**
 * An agent's own statistics, so that other agents' passages do not change how its own are ranked. `length` counts the
 * words of a passage; until a passage is indexed again (`indexed`), it is an estimate. `embedded_by` is the model
 * of its vector; `number` is the order in which vectors were stored, with chunks' (vector_state).
 */
export const memorySearch = `
alter table passages add column run_id text;
alter table passages add column length integer not null default 0;
alter table passages add column indexed integer not null default 0;
update passages set length = 1 + length(content) / 6;
alter table passages add column embedded_by text;
create index passages_unembedded on passages (seq) where embedded_by is null;
create index passages_unindexed on passages (seq) where indexed = 0;

create table passage_stats (
  agent_id text primary key references agents (id),
  passages bigint not null,
  length bigint not null
) /* sqlite: without rowid */;
insert into passage_stats (agent_id, passages, length) select agent_id, count(*), sum(length) from passages group by agent_id;

create table passage_vectors (
  agent_id text not null,
  seq bigint not null,
  model text not null,
  dimension integer not null,
  number bigint not null,
  vector /* sqlite: blob */ /* postgres: bytea */ not null,
  primary key (agent_id, seq),
  foreign key (agent_id, seq) references passages (agent_id, seq)
);
create index passage_vectors_number on passage_vectors (agent_id, model, number);

/* postgres: create trigger guard_index before update of indexed on passages for each row execute function guard_row_of_agent() */;

/* sqlite: create virtual table passage_terms using fts5vocab (passage_words, instance) */;
`;
