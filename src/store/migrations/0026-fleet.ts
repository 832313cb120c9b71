/**
 * Nodes register with what placement needs. `incarnation` is new at each start of a daemon: claims of an earlier one
 * match nothing. `seen_at` is a time of the database's clock, `clock_at` the node's own. `node_requests` holds what
 * one node asks of another.
 */
export const fleet = `
alter table nodes add column host text;
alter table nodes add column incarnation text;
alter table nodes add column version text;
alter table nodes add column labels text not null default '[]';
alter table nodes add column providers text not null default '[]';
alter table nodes add column slots integer not null default 0;
alter table nodes add column dead_after_ms bigint not null default 180000;
alter table nodes add column started_at bigint;
alter table nodes add column clock_at bigint;
alter table nodes add column stopped_at bigint;
alter table nodes add column lost_at bigint;
alter table nodes add column draining_at bigint;
alter table runs add column incarnation text;
create table node_requests (
  id text primary key,
  node_id text not null,
  kind text not null,
  asked text not null,
  state text not null,
  answer text,
  created_at bigint not null
);
create index node_requests_open on node_requests (node_id) where state = 'open';
`;
