/** Due times of things that have no row with a time. `kind` says what happens, `key` to what. */
export const timers = `
create table timers (
  kind text not null,
  key text not null,
  due bigint not null,
  primary key (kind, key)
);
create index timers_due on timers (due, kind, key);
`;
