/** Files that messages carry: their bytes once, by hash, and a row for each time that one is attached. */
export const attachments = `
create table files (
  hash text primary key,
  media_type text not null,
  size bigint not null,
  bytes /* sqlite: blob */ /* postgres: bytea */ not null,
  created_at bigint not null
);
create table attachments (
  message_id text not null references messages (id),
  position bigint not null,
  name text not null,
  hash text not null references files (hash),
  primary key (message_id, position)
);
create index attachments_hash on attachments (hash);
`;
