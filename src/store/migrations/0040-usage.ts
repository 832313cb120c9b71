/**
 * What each attempt used, by who counted it (`core/usage.ts`). A run's own numbers are their sum. Runs that ended
 * before have only these.
 */
export const usage = `
create table run_usage (
  run_id text not null,
  attempt integer not null,
  grade text not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost_usd double precision not null,
  primary key (run_id, attempt, grade)
);
alter table runs add column usage_grade text;
update runs set usage_grade = 'reported' where input_tokens > 0 or output_tokens > 0;
insert into run_usage select id, attempt, 'reported', input_tokens, output_tokens, cost_usd from runs
  where usage_grade is not null and state in ('created', 'running');
/* postgres: create trigger guard before insert or update on run_usage for each row execute function guard_run_record() */;
`;
