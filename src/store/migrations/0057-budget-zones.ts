/** The time zone whose days a budget has. Rows of the version before get theirs at the next start. */
export const budgetZones = `
alter table budgets add column time_zone text not null default 'UTC';
`;
