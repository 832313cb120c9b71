/**
 * Schedules send a message at times of the wall clock. When is in `timers`, with the kind `schedule` and the id as the key. `last_due` is
 * the time that was last fired for: no time is fired for twice, whatever the clock does. `messages.cause` says what sent a message that
 * nobody wrote at that moment.
 */
export const schedules = `
create table schedules (
  id text primary key,
  name text not null,
  name_key text not null unique,
  cron text not null,
  time_zone text not null,
  target text not null,
  text text not null,
  runs integer not null,
  node_id text,
  message_id text,
  last_due bigint,
  last_at bigint,
  error text,
  created_at bigint not null
);
alter table reminders add column last_due bigint;
alter table messages add column cause text;
`;
