/**
 * Blocks with their history and readers, passages, and the full-text index of passages. The index table has the same
 * two columns on both engines: an FTS5 index on SQLite, an indexed `tsvector` on PostgreSQL.
 */
export const memory = `
create table blocks (
  id text primary key,
  owner_id text not null references participants (id),
  label text not null,
  label_key text not null,
  text text not null,
  version integer not null,
  open integer not null,
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint,
  unique (owner_id, label_key)
);

create table block_readers (
  block_id text not null references blocks (id),
  agent_id text not null references agents (id),
  primary key (block_id, agent_id)
) /* sqlite: without rowid */;
create index block_readers_agent on block_readers (agent_id);

create table block_changes (
  block_id text not null references blocks (id),
  version integer not null,
  text text,
  changed_by text not null references participants (id),
  at bigint not null,
  primary key (block_id, version)
);

create table passages (
  agent_id text not null references agents (id),
  seq bigint not null,
  id text not null unique,
  content text not null,
  folded text,
  tags text not null,
  created_at bigint not null,
  primary key (agent_id, seq)
) /* sqlite: without rowid */;

/* sqlite: create virtual table passage_words using fts5 (words, content='', contentless_delete=1, tokenize='ascii') */;
/* postgres: create table passage_words (rowid bigint primary key, words tsvector not null) */;
/* postgres: create index passage_words_index on passage_words using gin (words) */;
`;
