/** What parents note about their children, and how often a failed run was tried again by a parent. */
export const steering = `
alter table agents add column metadata text not null default '{}';
alter table runs add column pokes integer not null default 0;
`;
