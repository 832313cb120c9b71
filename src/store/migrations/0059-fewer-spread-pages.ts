/**
 * With many senders, an index by run is a page of its own for each of their messages. What a run sent in direct
 * messages, which are the most, is found by the channels of its agent.
 */
export const fewerSpreadPages = `
drop index messages_run;
create index messages_said on messages (run_id) where run_id is not null and substr(channel_id, 1, 3) <> 'dm-';
`;
