/** Fewer pages written per message: records are stored by their key alone, and events by their number. */
export const fewerPages = `
create table records (
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
) /* sqlite: without rowid */;
insert into records
  select run_id, n, step, attempt, type, tool, call_id, call_key, content, is_error, effect, created_at from run_messages;
drop table run_messages;
alter table records rename to run_messages;
drop index events_at;
`;
