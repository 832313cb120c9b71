/** The settings of an agent have a revision, earlier ones are kept, and an earlier name still leads to its agent. */
export const settings = `
alter table agents add column revision bigint not null default 1;
create table agent_settings (
  agent_id text not null references agents (id),
  revision bigint not null,
  settings text not null,
  changed_by text references participants (id),
  at bigint not null,
  primary key (agent_id, revision)
);
create table former_names (
  agent_id text not null references agents (id),
  name_key text not null,
  primary key (agent_id, name_key)
) /* sqlite: without rowid */;
create index former_names_key on former_names (name_key);
`;
