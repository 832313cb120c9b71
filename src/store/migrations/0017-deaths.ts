/** How often a run was under way when its daemon died, and agents that take no turn until somebody resumes them. */
export const deaths = `
alter table runs add column deaths integer not null default 0;
alter table runs add column deaths_ever integer not null default 0;
alter table runs add column records_at_death integer not null default 0;
alter table runs add column boot text;
alter table agents add column paused_at bigint;
alter table agents add column paused_reason text;
`;
