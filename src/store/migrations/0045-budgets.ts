/** A statement for PostgreSQL only, on one line, so that the semicolons inside a function do not end it. */
const postgres = (statement: string) => `/* postgres: ${statement.replaceAll(/\s+/g, ' ').trim()} */;\n`;

/** What a budget is locked with: its tree, or its person. */
const LOCK = `case when tree_id is null then 'p:' || subject_id else 't:' || tree_id end`;

/**
 * Limits (`core/budget.ts`), what attempts draw from them, and which run waits for one. A run that waits is in state `created` and is
 * not claimed.
 */
export const budgets = [
  `
create table budgets (
  id text primary key,
  scope text not null,
  subject_id text not null references participants (id),
  tree_id text,
  unit text not null,
  period text not null,
  amount double precision not null,
  expires_at bigint,
  origin text not null,
  raised double precision not null,
  raised_in bigint,
  warned_in bigint,
  asked_in bigint,
  stopped_in bigint,
  question_id text,
  created_at bigint not null
);
create unique index budgets_subject on budgets (subject_id, scope, unit, period);
create index budgets_tree on budgets (tree_id) where tree_id is not null;
create index budgets_question on budgets (question_id) where question_id is not null;

create table charges (
  run_id text not null,
  attempt integer not null,
  budget_id text not null references budgets (id) on delete cascade,
  period_number bigint not null,
  reserved double precision not null,
  used double precision not null,
  grade text,
  open integer not null,
  created_at bigint not null,
  primary key (run_id, attempt, budget_id)
);
create index charges_budget on charges (budget_id, period_number);

alter table runs add column budget_id text;
alter table runs add column budget_until bigint;
create index runs_budget on runs (budget_id) where budget_id is not null;
`,
  postgres(`create or replace function guard_budget() returns trigger language plpgsql as $$
    declare row budgets := coalesce(new, old); begin
    perform must_hold(case when row.tree_id is null then 'p:' || row.subject_id else 't:' || row.tree_id end);
    return coalesce(new, old); end $$`),
  postgres(`create or replace function guard_charge() returns trigger language plpgsql as $$ begin
    perform must_hold((select ${LOCK} from budgets where id = coalesce(new.budget_id, old.budget_id)));
    return coalesce(new, old); end $$`),
  postgres(
    'create trigger guard before insert or update or delete on budgets for each row execute function guard_budget()',
  ),
  postgres(
    'create trigger guard before insert or update or delete on charges for each row execute function guard_charge()',
  ),
].join('');
