/**
 * Whose message started a chain of messages and runs, and how many runs each person had on a day (its number since
 * 1970, in UTC). No payer: the owner, or nobody.
 */
export const payers = `
alter table messages add column payer_id text references participants (id);
alter table runs add column payer_id text references participants (id);

create table person_runs (
  person_id text not null references participants (id),
  day bigint not null,
  runs bigint not null,
  primary key (person_id, day)
);
`;
