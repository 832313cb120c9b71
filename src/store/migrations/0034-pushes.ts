/** Whom an open question was told to outside of Substrat, and when the rest is tried next. */
export const pushes = `
alter table questions add column tell_at bigint;
alter table questions add column told text not null default '[]';
create index questions_tell on questions (tell_at) where outcome is null and tell_at is not null;
`;
