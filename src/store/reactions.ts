import type { Queries } from './query.ts';
import type { Messages } from './tx.ts';
import type { ReactionView } from './views.ts';

export type ReactionQueries = Pick<Messages, 'listReactions' | 'tryAddReaction' | 'tryRemoveReaction'>;

export function reactionQueries({ db, attempt, fetch }: Queries): ReactionQueries {
  return {
    tryAddReaction: attempt((p: { messageId: string; emoji: string; participantId: string; at: number }) =>
      db
        .insertInto('reactions')
        .values({ messageId: p.messageId, emoji: p.emoji, participantId: p.participantId, at: p.at })
        .onConflict((oc) => oc.doNothing()),
    ),
    tryRemoveReaction: attempt((p: { messageId: string; emoji: string; participantId: string }) =>
      db
        .deleteFrom('reactions')
        .where('messageId', '=', p.messageId)
        .where('emoji', '=', p.emoji)
        .where('participantId', '=', p.participantId),
    ),
    /** In order of creation. */
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
