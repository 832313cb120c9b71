/**
 * What can be removed later: the home of an agent on a node (`site` is its id) that it left, and the ref of a git
 * workspace that was deleted, on a remote (`site` is the digest of its address).
 */
export const leftovers = `
create table leftovers (
  site text not null,
  agent_id text not null,
  hash text,
  at bigint not null,
  primary key (site, agent_id)
) /* sqlite: without rowid */;
`;
