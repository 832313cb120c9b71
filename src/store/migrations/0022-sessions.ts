/**
 * Sessions are rows: an agent has one for each provider, account and path inside, with the last completed run that it saw. A session
 * that its provider lost has seen no run. An agent without a handle has a row too, if it completed a run: it knows of that run.
 */
export const sessionRows = `
create table sessions (
  agent_id text not null references agents (id),
  provider text not null,
  account text not null,
  inside_path text not null,
  handle text,
  last_run_id text,
  last_run_seq bigint not null,
  lost integer not null,
  primary key (agent_id, provider, account, inside_path)
);
insert into sessions
select id, provider, '', workspace, session,
  case when lost_session = 0 then (
    select runs.id from runs where runs.agent_id = agents.id and runs.state = 'completed' order by runs.seq desc, runs.id desc limit 1
  ) end,
  case when lost_session = 0 then coalesce(
    (select max(runs.seq) from runs where runs.agent_id = agents.id and runs.state = 'completed'), 0
  ) else 0 end,
  lost_session
from agents
where session is not null or lost_session = 1
  or exists (select 1 from runs where runs.agent_id = agents.id and runs.state = 'completed');
alter table agents drop column session;
alter table agents drop column lost_session;
`;
