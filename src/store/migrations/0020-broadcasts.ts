/**
 * Broadcasts whose replies are collected: the broadcaster gets them together, when all woken agents have ended or the
 * time is over. `quiet`: at the maximum chain depth, so they wake nobody. A delivery with `round` -1 wakes nobody
 * either: the next run carries it.
 */
export const broadcasts = `
create table broadcasts (
  message_id text primary key references messages (id),
  author_id text not null references agents (id),
  quiet integer not null,
  closes_at bigint not null,
  closed_at bigint
);
create index broadcasts_open on broadcasts (closes_at) where closed_at is null;
`;
