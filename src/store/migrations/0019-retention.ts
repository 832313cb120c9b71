/** Indexes of references to messages; without them, every removal of a message would scan all runs and requests. */
export const retention = `
create index runs_trigger on runs (trigger_id) where trigger_id is not null;
create index runs_serves on runs (serves) where serves is not null;
create index requests_reply on requests (reply_id) where reply_id is not null;
`;
