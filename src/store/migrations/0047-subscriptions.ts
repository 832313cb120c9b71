/** Who is told when the state of an agent changes. `message_id` is the last notice. */
export const subscriptions = `
create table subscriptions (
  id text primary key,
  agent_id text not null references agents (id),
  subject_id text not null references agents (id),
  from_state text not null,
  to_state text not null,
  once integer not null,
  chain_depth integer not null,
  payer_id text,
  message_id text,
  created_at bigint not null
);
create index subscriptions_agent on subscriptions (agent_id);
create index subscriptions_subject on subscriptions (subject_id);
/* postgres: create trigger guard before insert or delete on subscriptions for each row execute function guard_row_of_agent() */;
`;
