/** What was made from the configuration, and the values that were last applied from it. */
export const configured = `
create table configured (
  kind text not null check (kind in ('member', 'channel', 'file')),
  key text not null,
  agent_id text references agents (id),
  applied text not null,
  at bigint not null,
  primary key (kind, key)
);
`;
