/**
 * What executes an agent's turns while its own provider cannot, and the limits that were reached. `agent_id` is '' for
 * a limit of the whole account. `seat_new`: the first failure after a change of the seat is no attempt.
 */
export const seats = `
alter table agents add column account text not null default '';
alter table agents add column acting_provider text;
alter table agents add column acting_model text;
alter table agents add column acting_account text not null default '';
alter table agents add column seat_new integer not null default 0;
alter table agents add column rest_told integer not null default 0;
create table provider_limits (
  node_id text not null,
  provider text not null,
  account text not null,
  agent_id text not null,
  tree_id text not null,
  until bigint not null,
  reason text not null,
  grade text not null,
  at bigint not null,
  primary key (node_id, provider, account, agent_id)
);
`;
