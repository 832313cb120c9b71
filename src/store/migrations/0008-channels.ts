/**
 * Channels where people and agents talk: how each member is woken and what it has read, threads, edits, reactions,
 * and the turns of agents. A delivery's `round` is 0 outside of turns, 1 when it is the agent's turn, 2 while it is
 * held for it.
 */
export const channels = `
alter table channels add column created_by text references participants (id);
alter table members add column wake text not null default 'all';
alter table members add column read_seq bigint not null default 0;

alter table messages add column thread_id text references messages (id);
alter table messages add column edited_at bigint;
alter table messages add column deleted_at bigint;
create index messages_thread on messages (thread_id, seq) where thread_id is not null;

create table reactions (
  message_id text not null references messages (id),
  emoji text not null,
  participant_id text not null references participants (id),
  at bigint not null,
  primary key (message_id, emoji, participant_id)
) /* sqlite: without rowid */;

alter table deliveries add column round integer not null default 0;
drop index deliveries_pending;
create index deliveries_pending on deliveries (agent_id, seq) where state = 'pending' and round < 2;
create index deliveries_held on deliveries (agent_id) where state = 'pending' and round = 2;

create table turns (
  channel_id text not null references channels (id),
  agent_id text not null references agents (id),
  position bigint not null,
  state text not null check (state in ('waiting', 'released', 'passed')),
  released_at bigint,
  primary key (channel_id, agent_id)
) /* sqlite: without rowid */;
create index turns_agent on turns (agent_id);
create index turns_released on turns (released_at) where state = 'released';
`;
