/**
 * Whether a running attempt makes progress (`core/progress.ts`); null while it works. `told_attempt` is the attempt of
 * which the person was told, `patient_until` the time until which the person does not want to be told.
 */
export const progress = `
alter table runs add column progress text;
alter table runs add column progress_reason text;
alter table runs add column progress_since bigint;
alter table runs add column told_attempt integer;
alter table runs add column patient_until bigint;
`;
