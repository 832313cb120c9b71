/** The daemons that have used this store: where each one's home is, and when it was last seen. */
export const nodes = `
create table nodes (
  id text primary key,
  name text not null,
  home text not null,
  seen_at bigint not null
);
create index agents_node on agents (node_id) where terminated_at is null;
`;
