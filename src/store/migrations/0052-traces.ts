/**
 * A run is followed through the messages that it sent. A record has the sections of a prompt, and what its attempt had
 * used when it was made, so that the cost of a step is known.
 */
export const traces = `
create index messages_run on messages (run_id) where run_id is not null;
alter table run_messages add column sections text;
alter table run_messages add column input_tokens bigint;
alter table run_messages add column output_tokens bigint;
alter table run_messages add column cost_usd double precision;
`;
