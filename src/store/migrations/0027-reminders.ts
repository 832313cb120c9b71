/** What agents want to be reminded of. When is in `timers`, with the kind `reminder` and the id as the key. */
export const reminders = `
create table reminders (
  id text primary key,
  agent_id text not null references agents (id),
  reason text not null,
  every_ms bigint,
  chain_depth integer not null,
  payer_id text,
  message_id text,
  created_at bigint not null
);
create index reminders_agent on reminders (agent_id);
`;
