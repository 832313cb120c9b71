import type { Queries } from './query.ts';
import type { ChannelRow } from './schema.ts';

export function channelQueries({ db, all, one, run, fetch }: Queries) {
  const insertMember = run((p: { channelId: string; participantId: string; position: number }) =>
    db
      .insertInto('members')
      .values({ channel_id: p.channelId, participant_id: p.participantId, position: p.position })
      .onConflict((oc) => oc.doNothing()),
  );
  const lastPosition = one((p: { channelId: string }) =>
    db
      .selectFrom('members')
      .select((eb) => eb.fn.max('position').as('position'))
      .where('channel_id', '=', p.channelId),
  );
  const member = one((p: { channelId: string; participantId: string }) =>
    db
      .selectFrom('members')
      .select('position')
      .where('channel_id', '=', p.channelId)
      .where('participant_id', '=', p.participantId),
  );
  const shared = one((p: { a: string; b: string }) =>
    db
      .selectFrom('members as mine')
      .innerJoin('members as theirs', 'theirs.channel_id', 'mine.channel_id')
      .select('mine.channel_id')
      .where('mine.participant_id', '=', p.a)
      .where('theirs.participant_id', '=', p.b)
      .limit(1),
  );
  return {
    getChannel: one((p: { id: string }) => db.selectFrom('channels').selectAll().where('id', '=', p.id)),
    getDm: one((p: { pair: string }) => db.selectFrom('channels').selectAll().where('pair', '=', p.pair)),
    getTeamChannel: one((p: { teamOf: string }) =>
      db.selectFrom('channels').selectAll().where('team_of', '=', p.teamOf),
    ),
    insertChannel: (channel: ChannelRow) => fetch(db.insertInto('channels').values(channel)),
    /** Joining twice is joining once; the order of joining is kept. */
    joinChannel: async (p: { channelId: string; participantId: string }): Promise<void> => {
      const last = await lastPosition({ channelId: p.channelId });
      await insertMember({ ...p, position: (last?.position ?? 0) + 1 });
    },
    shareChannel: async (p: { a: string; b: string }): Promise<boolean> => (await shared(p)) !== null,
    isMember: async (p: { channelId: string; participantId: string }): Promise<boolean> => (await member(p)) !== null,
    /** All of them, or those that a participant is in; by id. */
    listChannels: (p: { participantId: string | null; after: string; limit: number }) =>
      fetch(
        db
          .selectFrom('channels')
          .selectAll()
          .where('id', '>', p.after)
          .$if(p.participantId !== null, (q) =>
            q.where('id', 'in', (eb) =>
              eb
                .selectFrom('members')
                .select('channel_id')
                .where('participant_id', '=', p.participantId ?? ''),
            ),
          )
          .orderBy('id')
          .limit(p.limit),
      ),
    listParticipants: all((p: { after: string; limit: number }) =>
      db
        .selectFrom('participants')
        .selectAll()
        .where('kind', '<>', 'system')
        .where('handle_key', '>', p.after)
        .orderBy('handle_key')
        .limit(p.limit),
    ),
    listMemberHandles: all((p: { channelId: string }) =>
      db
        .selectFrom('members')
        .innerJoin('participants', 'participants.id', 'members.participant_id')
        .select(['participants.id', 'participants.kind', 'participants.handle'])
        .where('channel_id', '=', p.channelId)
        .orderBy('position'),
    ),
  };
}
