/** Tokens of clients, and stored responses for idempotent posts. */
export const door = `
create table tokens (
  id text primary key,
  hash text not null unique,
  participant_id text not null references participants (id),
  label text not null,
  created_at bigint not null,
  revoked_at bigint
);

create table posts (
  participant_id text not null references participants (id),
  key text not null,
  request text not null,
  status integer not null,
  response text not null,
  created_at bigint not null,
  primary key (participant_id, key)
);
create index posts_created on posts (created_at);

create index events_at on events (at);
create index runs_started on runs (seq, id);
`;
