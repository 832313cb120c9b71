/**
 * Both engines read this text, SQLite in its dialect (migrate.ts). Times are milliseconds, booleans 0 or 1, JSON is
 * text.
 */
export const heart = `
create table counters (
  name text primary key,
  value bigint not null
);
insert into counters (name, value) values ('event', 0);

create table participants (
  id text primary key,
  kind text not null check (kind in ('agent', 'person', 'system')),
  handle text not null,
  handle_key text not null unique,
  created_at bigint not null
);
insert into participants (id, kind, handle, handle_key, created_at)
  values ('user', 'person', 'user', 'user', 0), ('system', 'system', 'system', 'system', 0);

create table trees (
  id text primary key,
  runs_since_person integer not null,
  last_claim bigint not null,
  told_paused integer not null
);

create table agents (
  id text primary key references participants (id),
  tree_id text not null references trees (id),
  parent_id text references agents (id),
  depth integer not null,
  name text not null,
  name_key text not null,
  handle text not null,
  role text not null,
  instructions text not null,
  provider text not null,
  model text,
  program text,
  workspace text not null,
  tools text,
  session text,
  node_id text not null,
  spawned_by text,
  ready integer not null,
  completing integer not null,
  rest_until bigint not null,
  rests integer not null,
  created_at bigint not null,
  terminated_at bigint
);
create unique index agents_name on agents (parent_id, name_key) where terminated_at is null;
create index agents_tree on agents (tree_id, terminated_at);
create index agents_parent on agents (parent_id, terminated_at);
create index agents_named on agents (name_key);
create index agents_created on agents (created_at, id);
create index agents_unready on agents (spawned_by) where ready = 0;

create table channels (
  id text primary key,
  kind text not null check (kind in ('public', 'private', 'dm')),
  topic text not null,
  pair text unique,
  team_of text unique references agents (id),
  created_at bigint not null
);

create table members (
  channel_id text not null references channels (id),
  participant_id text not null references participants (id),
  position integer not null,
  primary key (channel_id, participant_id)
) /* sqlite: without rowid */;
create index members_participant on members (participant_id);
create index members_position on members (channel_id, position);

create table messages (
  seq bigint primary key,
  id text not null unique,
  channel_id text not null references channels (id),
  author_id text not null references participants (id),
  run_id text,
  kind text not null check (kind in ('message', 'reply', 'error', 'notice')),
  text text not null,
  in_reply_to text references messages (id),
  late integer not null,
  chain_depth integer not null,
  created_at bigint not null
);
create index messages_channel on messages (channel_id, seq);
create index messages_reply on messages (in_reply_to) where in_reply_to is not null;

create table requests (
  message_id text primary key references messages (id),
  seq bigint not null,
  asker_id text not null references participants (id),
  recipient_id text not null references participants (id),
  parent_id text references requests (message_id),
  state text not null check (state in ('open', 'closed')),
  deadline_at bigint,
  reply_id text references messages (id),
  closed_at bigint
) /* sqlite: without rowid */;
create index requests_asker on requests (asker_id) where state = 'open';
create index requests_recipient on requests (recipient_id) where state = 'open';
create index requests_deadline on requests (deadline_at) where state = 'open' and deadline_at is not null;
create index requests_parent on requests (parent_id) where parent_id is not null;

create table deliveries (
  message_id text not null references messages (id),
  agent_id text not null references agents (id),
  seq bigint not null,
  kind text not null check (kind in ('request', 'reply', 'news')),
  state text not null check (state in ('pending', 'injected', 'acknowledged', 'dead')),
  run_id text,
  primary key (message_id, agent_id)
) /* sqlite: without rowid */;
create index deliveries_pending on deliveries (agent_id, seq) where state = 'pending';
create index deliveries_run on deliveries (run_id) where run_id is not null;

create table runs (
  id text primary key,
  seq bigint not null,
  agent_id text not null references agents (id),
  tree_id text not null references trees (id),
  node_id text not null,
  state text not null check (state in ('created', 'running', 'completed', 'failed', 'cancelled')),
  attempt integer not null,
  failures integer not null,
  fence integer not null,
  serves text references requests (message_id),
  trigger_id text references messages (id),
  chain_depth integer not null,
  stop_reason text,
  error text,
  final_text text,
  input_tokens integer not null,
  output_tokens integer not null,
  cost_usd double precision not null,
  not_before bigint not null,
  lease_until bigint,
  pid integer,
  pid_started text,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint
);
create unique index runs_live on runs (agent_id) where state in ('created', 'running');
create index runs_queue on runs (node_id, tree_id, seq) where state = 'created';
create index runs_running on runs (node_id, lease_until) where state = 'running';
create index runs_agent on runs (agent_id, seq);

create table run_messages (
  run_id text not null references runs (id),
  n integer not null,
  step integer not null,
  attempt integer not null,
  type text not null,
  tool text,
  call_id text,
  call_key text,
  content text not null,
  is_error integer not null,
  effect integer not null,
  created_at bigint not null,
  primary key (run_id, n)
);

create table events (
  seq bigint primary key,
  type text not null,
  at bigint not null,
  agent_id text,
  channel_id text,
  data text not null
);
`;
