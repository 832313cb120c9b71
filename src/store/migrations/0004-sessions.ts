/** Marks an agent whose provider lost its session, until a turn succeeds. */
export const sessions = `
alter table agents add column lost_session integer not null default 0;
`;
