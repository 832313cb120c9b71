/** A token of the page is of its own kind and expires; others do not. */
export const pageTokens = `
alter table tokens add column kind text not null default 'api';
alter table tokens add column expires_at bigint;
`;
