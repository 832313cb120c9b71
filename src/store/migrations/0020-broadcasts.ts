/**
 * Broadcasts whose replies are collected: those come to the broadcaster together, when all who were woken have ended or the time
 * is over. `quiet`: as deep in a chain as may be, so they wake nobody. A delivery with `round` -1 wakes nobody either: it comes
 * along with the next run.
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
