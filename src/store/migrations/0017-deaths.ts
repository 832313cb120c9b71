/** How often a run was in progress when its daemon died, and agents that take no turn until they are resumed. */
export const deaths = `
alter table runs add column deaths integer not null default 0;
alter table runs add column deaths_ever integer not null default 0;
alter table runs add column records_at_death integer not null default 0;
alter table runs add column boot text;
alter table agents add column paused_at bigint;
alter table agents add column paused_reason text;
`;
