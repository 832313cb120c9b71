/** What agents claim about their work, and what checks found out (`core/evidence.ts`). */
export const evidence = `
create table evidence (
  message_id text not null references messages (id),
  position integer not null,
  agent_id text not null references agents (id),
  run_id text,
  kind text not null,
  subject text not null,
  expected text,
  state text not null,
  detail text,
  tree text,
  created_at bigint not null,
  checked_at bigint,
  primary key (message_id, position)
);
create index evidence_run on evidence (run_id) where run_id is not null;
create index evidence_agent on evidence (agent_id, created_at);
create index evidence_time on evidence (created_at);
create index evidence_unchecked on evidence (agent_id) where checked_at is null;
/* postgres: create trigger guard before insert or update on evidence for each row execute function guard_row_of_agent() */;
`;
