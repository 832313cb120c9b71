/** An agent whose provider does not know its session any more, until a turn has ended well. */
export const sessions = `
alter table agents add column lost_session integer not null default 0;
`;
