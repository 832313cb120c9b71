/**
 * Deleting an agent looks for everything that refers to it. The authors of messages and the recipients of deliveries
 * and requests have no index for that: every message would write four pages more.
 */
export const deletable = `
create index agent_settings_changed_by on agent_settings (changed_by) where changed_by is not null;
create index block_changes_changed_by on block_changes (changed_by);
create index broadcasts_author on broadcasts (author_id);
create index channels_created_by on channels (created_by) where created_by is not null;
create index messages_payer on messages (payer_id) where payer_id is not null;
create index reactions_participant on reactions (participant_id);
create index runs_payer on runs (payer_id) where payer_id is not null;
`;
