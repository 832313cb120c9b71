import type { Queries } from './query.ts';
import type { Tokens } from './tx.ts';
import type { NewToken } from './views.ts';

/** Only hashes are stored, so reading the store does not reveal a usable token. */
export function tokenQueries({ db, all, one, put, attempt }: Queries): Tokens {
  return {
    insertToken: put((p: NewToken) =>
      db.insertInto('tokens').values({
        id: p.id,
        hash: p.hash,
        participantId: p.participantId,
        label: p.label,
        createdAt: p.createdAt,
        revokedAt: null,
      }),
    ),
    /** The participant with this token, unless it was revoked. */
    getTokenOwner: one((p: { hash: string }) =>
      db
        .selectFrom('tokens')
        .innerJoin('participants', 'participants.id', 'tokens.participantId')
        .selectAll('participants')
        .where('tokens.hash', '=', p.hash)
        .where('tokens.revokedAt', 'is', null),
    ),
    listTokens: all(() =>
      db
        .selectFrom('tokens')
        .innerJoin('participants', 'participants.id', 'tokens.participantId')
        .select(['tokens.id', 'tokens.label', 'tokens.createdAt', 'tokens.revokedAt', 'participants.handle'])
        .orderBy('tokens.createdAt')
        .orderBy('tokens.id'),
    ),
    tryRevokeToken: attempt((p: { id: string; at: number }) =>
      db.updateTable('tokens').set({ revokedAt: p.at }).where('id', '=', p.id).where('revokedAt', 'is', null),
    ),
  };
}
