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
        kind: p.kind,
        createdAt: p.createdAt,
        expiresAt: p.expiresAt,
        revokedAt: null,
      }),
    ),
    /** The participant with this token, unless it was revoked or has expired. */
    getTokenOwner: one((p: { hash: string; at: number }) =>
      db
        .selectFrom('tokens')
        .innerJoin('participants', 'participants.id', 'tokens.participantId')
        .selectAll('participants')
        .select(['tokens.id as tokenId', 'tokens.kind as tokenKind'])
        .select(['tokens.createdAt as tokenCreatedAt', 'tokens.expiresAt as tokenExpiresAt'])
        .where('tokens.hash', '=', p.hash)
        .where('tokens.revokedAt', 'is', null)
        .where((is) => is.or([is('tokens.expiresAt', 'is', null), is('tokens.expiresAt', '>', p.at)])),
    ),
    listTokens: all(() =>
      db
        .selectFrom('tokens')
        .innerJoin('participants', 'participants.id', 'tokens.participantId')
        .select([
          'tokens.id',
          'tokens.label',
          'tokens.kind',
          'tokens.createdAt',
          'tokens.expiresAt',
          'tokens.revokedAt',
          'participants.handle',
        ])
        .orderBy('tokens.createdAt')
        .orderBy('tokens.id'),
    ),
    tryRevokeToken: attempt((p: { id: string; at: number }) =>
      db.updateTable('tokens').set({ revokedAt: p.at }).where('id', '=', p.id).where('revokedAt', 'is', null),
    ),
    tryExtendToken: attempt((p: { id: string; expiresAt: number }) =>
      db.updateTable('tokens').set({ expiresAt: p.expiresAt }).where('id', '=', p.id).where('revokedAt', 'is', null),
    ),
  };
}
