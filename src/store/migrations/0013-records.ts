/**
 * Many runs write at once, each at its own place in a table that is kept by run and number: every call split pages of records, and
 * their neighbours. Kept in the order of writing they lie together, and by run only the short keys do.
 */
export const recordsInOrder = `
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
);
insert into records
  select run_id, n, step, attempt, type, tool, call_id, call_key, content, is_error, effect, created_at from run_messages;
drop table run_messages;
alter table records rename to run_messages;
`;
