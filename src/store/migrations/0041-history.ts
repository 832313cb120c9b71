const ENDED = `state in ('completed', 'failed', 'cancelled')`;
const OF = (grade: string) => `sum(case when usage_grade = '${grade}' then 1 else 0 end)`;
const SUMS = `count(*), sum(input_tokens), sum(output_tokens), sum(cost_usd), ${OF('metered')}, ${OF('reported')}, ${OF('assumed')}`;
const DAY = 'created_at / 86400000';

/**
 * Nothing that is read often is linear in the history. `usage_totals` sums ended runs by agent, tree and day (its
 * number since 1970, in UTC; -1: all days), with the number of runs of each grade (core/usage.ts); `runs.tallied` says which of them are in it. Its rows are of no agent, so
 * PostgreSQL has one lock for them. The other indexes only contain what lives, what failed, or what has a tag.
 */
export const history = `
alter table runs add column tallied integer not null default 0;
create table usage_totals (
  kind text not null check (kind in ('agent', 'tree', 'day')),
  key text not null,
  day bigint not null,
  runs bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost_usd double precision not null,
  metered bigint not null,
  reported bigint not null,
  assumed bigint not null,
  primary key (kind, key, day)
) /* sqlite: without rowid */;
create index usage_totals_cost on usage_totals (kind, day, cost_usd);
insert into usage_totals select 'agent', agent_id, ${DAY}, ${SUMS} from runs where ${ENDED} group by agent_id, ${DAY};
insert into usage_totals select 'agent', agent_id, -1, ${SUMS} from runs where ${ENDED} group by agent_id;
insert into usage_totals select 'tree', tree_id, ${DAY}, ${SUMS} from runs where ${ENDED} group by tree_id, ${DAY};
insert into usage_totals select 'tree', tree_id, -1, ${SUMS} from runs where ${ENDED} group by tree_id;
insert into usage_totals select 'day', '', ${DAY}, ${SUMS} from runs where ${ENDED} group by ${DAY};
update runs set tallied = 1 where ${ENDED};
create index runs_untallied on runs (agent_id) where tallied = 0;
create index runs_created on runs (created_at);
create index runs_failed on runs (state, seq, id) where state in ('failed', 'cancelled');
create index runs_agent_failed on runs (agent_id, state, seq, id) where state in ('failed', 'cancelled');

drop index agents_named;
create index agents_named on agents (name_key) where terminated_at is null;
create index agents_living on agents (created_at, id) where terminated_at is null;
create index channels_public on channels (id) where kind = 'public';

create table passage_tags (
  agent_id text not null references agents (id),
  tag text not null,
  seq bigint not null,
  primary key (agent_id, tag, seq)
) /* sqlite: without rowid */;
/* sqlite: insert or ignore into passage_tags select agent_id, tag.value, seq from passages, json_each(passages.tags) as tag */;
/* postgres: insert into passage_tags select distinct agent_id, tag, seq from passages cross join lateral jsonb_array_elements_text(tags::jsonb) as tag */;

/* postgres: create trigger guard before insert or update or delete on usage_totals for each statement execute function guard_table('u') */;
/* postgres: create trigger guard before insert or delete on passage_tags for each row execute function guard_row_of_agent() */;
`;
