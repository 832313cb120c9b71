import type { Queries } from './query.ts';

export interface ReactionView {
  readonly messageId: string;
  readonly emoji: string;
  readonly handle: string;
}

export function reactionQueries({ db, run, fetch }: Queries) {
  return {
    /** 0 where it is there already. */
    insertReaction: run((p: { messageId: string; emoji: string; participantId: string; at: number }) =>
      db
        .insertInto('reactions')
        .values({ messageId: p.messageId, emoji: p.emoji, participantId: p.participantId, at: p.at })
        .onConflict((oc) => oc.doNothing()),
    ),
    deleteReaction: run((p: { messageId: string; emoji: string; participantId: string }) =>
      db
        .deleteFrom('reactions')
        .where('messageId', '=', p.messageId)
        .where('emoji', '=', p.emoji)
        .where('participantId', '=', p.participantId),
    ),
    /** In the order in which they came. */
    listReactions: async (p: { messageIds: readonly string[] }): Promise<ReactionView[]> =>
      p.messageIds.length === 0
        ? []
        : fetch(
            db
              .selectFrom('reactions')
              .innerJoin('participants', 'participants.id', 'reactions.participantId')
              .select(['reactions.messageId', 'reactions.emoji', 'participants.handle'])
              .where('reactions.messageId', 'in', [...p.messageIds])
              .orderBy('reactions.at')
              .orderBy('participants.handleKey'),
          ),
  };
}
