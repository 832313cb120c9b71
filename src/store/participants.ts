import type { Queries } from './query.ts';
import type { Participants } from './tx.ts';

export function participantQueries({ db, all, one, put }: Queries): Participants {
  return {
    getParticipant: one((p: { handleKey: string }) =>
      db.selectFrom('participants').selectAll().where('handleKey', '=', p.handleKey),
    ),
    getParticipantById: one((p: { id: string }) => db.selectFrom('participants').selectAll().where('id', '=', p.id)),
    insertPerson: put((p: { id: string; handle: string; handleKey: string; at: number }) =>
      db
        .insertInto('participants')
        .values({ id: p.id, kind: 'person', handle: p.handle, handleKey: p.handleKey, createdAt: p.at }),
    ),
    listParticipants: all((p: { after: string; limit: number }) =>
      db
        .selectFrom('participants')
        .selectAll()
        .where('kind', '<>', 'system')
        .where('handleKey', '>', p.after)
        .orderBy('handleKey')
        .limit(p.limit),
    ),
    /** Participants who share a channel with the given one, by handle. */
    listAcquaintances: all((p: { participantId: string; after: string; limit: number }) =>
      db
        .selectFrom('participants')
        .selectAll()
        .where('handleKey', '>', p.after)
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('members as mine')
            .innerJoin('members as theirs', 'theirs.channelId', 'mine.channelId')
            .select('theirs.participantId')
            .where('mine.participantId', '=', p.participantId),
        )
        .orderBy('handleKey')
        .limit(p.limit),
    ),
  };
}
