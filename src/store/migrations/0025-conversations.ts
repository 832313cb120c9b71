/** The messages of agents whose provider has no program to store them: one row each. A summary names the last row that it replaces. */
export const conversations = `
create table conversation_entries (
  session text not null,
  n bigint not null,
  agent_id text not null references agents (id),
  run_id text not null,
  role text not null,
  content text not null,
  covers bigint,
  input_tokens bigint not null,
  output_tokens bigint not null,
  created_at bigint not null,
  primary key (session, n)
);
create index conversation_summaries on conversation_entries (session, n) where covers is not null;
`;
