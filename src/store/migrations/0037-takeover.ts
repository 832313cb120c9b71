/**
 * Agents can be taken over by another node. `nodes.shared` are the directories that a node shares with others. A
 * snapshot is the files of a session by path and hash; `sessions.snapshot` is the one that includes the last run which
 * the session saw, and `snapshot_handle` the session's name at that time. `taken_from` is the node it was taken from
 * since.
 */
export const takeover = `
alter table nodes add column shared text not null default '[]';
alter table sessions add column snapshot text;
alter table sessions add column snapshot_handle text;
alter table sessions add column taken_from text;
create index sessions_snapshot on sessions (snapshot) where snapshot is not null;
create table snapshot_files (
  hash text primary key,
  size bigint not null,
  bytes /* sqlite: blob */ /* postgres: bytea */ not null,
  used_at bigint not null
);
create table snapshot_entries (
  snapshot text not null,
  path text not null,
  hash text not null references snapshot_files (hash),
  used_at bigint not null,
  primary key (snapshot, path)
);
create index snapshot_entries_hash on snapshot_entries (hash);
`;
