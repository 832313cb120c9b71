import { sql } from 'kysely';
import type { Channel, Wake } from '../core/channel.ts';
import { MOST_COUNTED } from '../core/counts.ts';
import type { ChannelId, ParticipantId } from '../core/ids.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { Channels } from './tx.ts';

export function channelQueries({ db, all, one, put, change, attempt, fetch, engine }: Queries): Channels {
  const insertMember = attempt((p: { channelId: string; participantId: string; position: number; wake: Wake }) =>
    db
      .insertInto('members')
      .values({
        channelId: p.channelId,
        participantId: p.participantId,
        position: p.position,
        wake: p.wake,
        readSeq: 0,
      })
      .onConflict((oc) => oc.doNothing()),
  );
  const lastPosition = one((p: { channelId: string }) =>
    db
      .selectFrom('members')
      .select((eb) => eb.fn.max('position').as('position'))
      .where('channelId', '=', p.channelId),
  );
  const member = one((p: { channelId: string; participantId: string }) =>
    db
      .selectFrom('members')
      .selectAll()
      .where('channelId', '=', p.channelId)
      .where('participantId', '=', p.participantId),
  );
  const sharedChannels = (p: { a: string; b: string }) =>
    db
      .selectFrom('members as mine')
      .innerJoin('members as theirs', 'theirs.channelId', 'mine.channelId')
      .select('mine.channelId')
      .where('mine.participantId', '=', p.a)
      .where('theirs.participantId', '=', p.b);
  const shared = one((p: { a: string; b: string }) => sharedChannels(p).limit(1));
  const seen = all((p: { participantId: string; ids: unknown }) =>
    db
      .selectFrom('channels')
      .leftJoin('members as mine', (join) =>
        join.onRef('mine.channelId', '=', 'channels.id').on('mine.participantId', '=', p.participantId),
      )
      .select('channels.id')
      .where(isOneOf(engine, 'channels.id', p.ids, 'text'))
      .where((eb) => eb.or([eb('channels.kind', '=', 'public'), eb('mine.participantId', 'is not', null)])),
  );
  const views = (participantId: string) =>
    db
      .selectFrom('channels')
      .leftJoin('members as mine', (join) =>
        join.onRef('mine.channelId', '=', 'channels.id').on('mine.participantId', '=', participantId),
      )
      .selectAll('channels')
      .select((eb) => [
        'mine.readSeq',
        eb
          .selectFrom((inner) =>
            inner
              .selectFrom('messages')
              .select('messages.seq')
              .whereRef('messages.channelId', '=', 'channels.id')
              .whereRef('messages.seq', '>', 'mine.readSeq')
              .where('messages.authorId', '<>', participantId)
              .where('messages.deletedAt', 'is', null)
              .limit(sql.lit(MOST_COUNTED))
              .as('some'),
          )
          .select(eb.fn.countAll<number>().as('n'))
          .as('unread'),
      ]);
  /** Each part has an index, so that others' channels are not read. */
  const seenAfter = (p: { participantId: string; after: string; limit: number }) =>
    db
      .selectFrom('channels as open')
      .select('open.id')
      .where('open.kind', '=', sql.lit('public'))
      .where('open.id', '>', p.after)
      .union(
        db
          .selectFrom('members')
          .select('members.channelId as id')
          .where('members.participantId', '=', p.participantId)
          .where('members.channelId', '>', p.after),
      )
      .orderBy('id')
      .limit(p.limit);
  return {
    getChannel: one((p: { id: string }) => db.selectFrom('channels').selectAll().where('id', '=', p.id)),
    getDm: one((p: { pair: string }) => db.selectFrom('channels').selectAll().where('pair', '=', p.pair)),
    getTeamChannel: one((p: { teamOf: string }) =>
      db.selectFrom('channels').selectAll().where('teamOf', '=', p.teamOf),
    ),
    insertChannel: async (channel: Channel) => void (await fetch(db.insertInto('channels').values(channel))),
    /** Idempotent; keeps the order of joining. */
    tryJoinChannel: async (p: { channelId: ChannelId; participantId: ParticipantId; wake?: Wake }) => {
      const last = await lastPosition({ channelId: p.channelId });
      return insertMember({ wake: 'all', ...p, position: (last?.position ?? 0) + 1 });
    },
    tryLeaveChannel: attempt((p: { channelId: string; participantId: string }) =>
      db.deleteFrom('members').where('channelId', '=', p.channelId).where('participantId', '=', p.participantId),
    ),
    getMember: member,
    trySetWake: attempt((p: { channelId: string; participantId: string; wake: Wake }) =>
      db
        .updateTable('members')
        .set({ wake: p.wake })
        .where('channelId', '=', p.channelId)
        .where('participantId', '=', p.participantId),
    ),
    /** Never moves back. */
    raiseRead: put((p: { channelId: string; participantId: string; seq: number }) =>
      db
        .updateTable('members')
        .set({ readSeq: p.seq })
        .where('channelId', '=', p.channelId)
        .where('participantId', '=', p.participantId)
        .where('readSeq', '<', p.seq),
    ),
    setTopic: change('channel', (p: { id: string; topic: string }) =>
      db.updateTable('channels').set({ topic: p.topic }).where('id', '=', p.id),
    ),
    listMemberships: all((p: { participantId: string }) =>
      db.selectFrom('members').select('channelId').where('participantId', '=', p.participantId).orderBy('channelId'),
    ),
    /** The channels of an agent except DMs, for its prompt. */
    listJoined: all((p: { participantId: string; limit: number }) =>
      db
        .selectFrom('members')
        .innerJoin('channels', 'channels.id', 'members.channelId')
        .selectAll('channels')
        .where('members.participantId', '=', p.participantId)
        .where('channels.kind', '<>', 'dm')
        .orderBy('channels.id')
        .limit(p.limit),
    ),
    shareChannel: async (p: { a: string; b: string }): Promise<boolean> => (await shared(p)) !== null,
    /** The channels that both are in, by id. */
    listSharedChannels: all((p: { a: string; b: string }) => sharedChannels(p).orderBy('mine.channelId')),
    isMember: async (p: { channelId: string; participantId: string }): Promise<boolean> => (await member(p)) !== null,
    /** The ones of these channels that the participant sees: its own and the public ones. */
    listSeen: ({ participantId, channelIds }: { participantId: string; channelIds: readonly string[] }) =>
      seen({ participantId, ids: listOf(engine, channelIds) }),
    getChannelView: one((p: { id: string; participantId: string }) =>
      views(p.participantId).where('channels.id', '=', p.id),
    ),
    /** By id: all of them, or those that the participant sees: its own and the public ones. */
    listChannels: (p: { participantId: string; all: boolean; after: string; limit: number }) =>
      fetch(
        views(p.participantId)
          .where('channels.id', '>', p.after)
          .$if(!p.all, (q) => q.where('channels.id', 'in', seenAfter(p)))
          .orderBy('channels.id')
          .limit(p.limit),
      ),
    /** In order of joining. */
    listMembers: all((p: { channelId: string }) =>
      db
        .selectFrom('members')
        .innerJoin('participants', 'participants.id', 'members.participantId')
        .leftJoin('agents', 'agents.id', 'members.participantId')
        .select([
          'participants.id',
          'participants.kind',
          'participants.handle',
          'members.position',
          'members.wake',
          'members.readSeq',
          'agents.provider',
          'agents.terminatedAt',
        ])
        .where('members.channelId', '=', p.channelId)
        .orderBy('members.position'),
    ),
  };
}
