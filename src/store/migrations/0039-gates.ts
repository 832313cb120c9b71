/** A gated agent starts no turn, except one that its parent permits. */
export const gates = `
alter table agents add column gated_at bigint;
alter table agents add column permitted integer not null default 0;
alter table agents add column gate_told integer not null default 0;
`;
