/**
 * A schedule pays for the runs that its messages start, so it is a participant. What it used since it last fired is in `person_runs`, as
 * of day 0. `told_spent`: the owner knows that agents wait for its next firing.
 */
export const schedulePayers = `
insert into participants (id, kind, handle, handle_key, created_at)
  select id, 'system', 'schedule:' || id, 'schedule:' || id, created_at from schedules;
alter table schedules add column told_spent integer not null default 0;
`;
