/** Whose inbox a message is in: that of the person who receives it in a DM. */
export const inbox = `
alter table messages add column inbox_of text;
update messages set inbox_of = (
  select min(members.participant_id) from members
  join channels on channels.id = members.channel_id
  join participants on participants.id = members.participant_id
  where members.channel_id = messages.channel_id and channels.kind = 'dm'
    and participants.kind = 'person' and members.participant_id <> messages.author_id
);
create index messages_inbox on messages (inbox_of, seq) where inbox_of is not null;
`;
