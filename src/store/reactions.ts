import type { Queries } from './query.ts';

export interface ReactionView {
  readonly message_id: string;
  readonly emoji: string;
  readonly handle: string;
}

export function reactionQueries({ db, run, fetch }: Queries) {
  return {
    /** 0 where it is there already. */
    insertReaction: run((p: { messageId: string; emoji: string; participantId: string; at: number }) =>
      db
        .insertInto('reactions')
        .values({ message_id: p.messageId, emoji: p.emoji, participant_id: p.participantId, at: p.at })
        .onConflict((oc) => oc.doNothing()),
    ),
    deleteReaction: run((p: { messageId: string; emoji: string; participantId: string }) =>
      db
        .deleteFrom('reactions')
        .where('message_id', '=', p.messageId)
        .where('emoji', '=', p.emoji)
        .where('participant_id', '=', p.participantId),
    ),
    /** In the order in which they came. */
    listReactions: async (p: { messageIds: readonly string[] }): Promise<ReactionView[]> =>
      p.messageIds.length === 0
        ? []
        : fetch(
            db
              .selectFrom('reactions')
              .innerJoin('participants', 'participants.id', 'reactions.participant_id')
              .select(['reactions.message_id', 'reactions.emoji', 'participants.handle'])
              .where('reactions.message_id', 'in', [...p.messageIds])
              .orderBy('reactions.at')
              .orderBy('participants.handle_key'),
          ),
  };
}
