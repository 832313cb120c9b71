import type { Queries } from './query.ts';
import type { TokenRow } from './schema.ts';

/** Only hashes are stored: whoever reads the store cannot come in with what is there. */
export function tokenQueries({ db, all, one, run }: Queries) {
  return {
    insertToken: run((p: Omit<TokenRow, 'revoked_at'>) =>
      db.insertInto('tokens').values({
        id: p.id,
        hash: p.hash,
        participant_id: p.participant_id,
        label: p.label,
        created_at: p.created_at,
        revoked_at: null,
      }),
    ),
    /** The participant whose token this is, unless it was revoked. */
    getTokenOwner: one((p: { hash: string }) =>
      db
        .selectFrom('tokens')
        .innerJoin('participants', 'participants.id', 'tokens.participant_id')
        .selectAll('participants')
        .where('tokens.hash', '=', p.hash)
        .where('tokens.revoked_at', 'is', null),
    ),
    listTokens: all((_: object) =>
      db
        .selectFrom('tokens')
        .innerJoin('participants', 'participants.id', 'tokens.participant_id')
        .select(['tokens.id', 'tokens.label', 'tokens.created_at', 'tokens.revoked_at', 'participants.handle'])
        .orderBy('tokens.created_at')
        .orderBy('tokens.id'),
    ),
    revokeToken: run((p: { id: string; at: number }) =>
      db.updateTable('tokens').set({ revoked_at: p.at }).where('id', '=', p.id).where('revoked_at', 'is', null),
    ),
    insertPerson: run((p: { id: string; handle: string; handleKey: string; at: number }) =>
      db
        .insertInto('participants')
        .values({ id: p.id, kind: 'person', handle: p.handle, handle_key: p.handleKey, created_at: p.at }),
    ),
  };
}
