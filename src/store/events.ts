import type { NewEvent } from '../core/event.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { EventRow } from './schema.ts';
import type { Events } from './tx.ts';

export function eventQueries({ db, value, append, all, engine, writes }: Queries, batch: BatchState): Events {
  const last = value(() => db.selectFrom('events').select((eb) => eb.fn.max('seq').as('seq')));
  const counter = value(() => db.selectFrom('counters').select('value').where('name', '=', 'event'));
  // Readers number what is committed; a writer would number what is not.
  const number = value(() => db.selectNoFrom((eb) => eb.fn<number>('number_events').as('seq')));
  const numbers = engine === 'postgres' && !writes;
  const list = all((p: { after: number; limit: number }) =>
    db
      .selectFrom('events')
      .select(['seq', 'type', 'at', 'agentId', 'channelId', 'data'])
      .where('seq', '>', p.after)
      .orderBy('seq')
      .limit(p.limit),
  );
  const insert = append((p: EventRow) =>
    db.insertInto('events').values({
      seq: p.seq,
      type: p.type,
      at: p.at,
      agentId: p.agentId,
      channelId: p.channelId,
      data: p.data,
    }),
  );
  return {
    /** Numbered without gaps in the order of commits: a failing writer on SQLite returns its numbers. */
    appendEvent: async (event: NewEvent): Promise<void> => {
      batch.events += 1;
      if (engine === 'sqlite') batch.seq += 1;
      await insert({
        seq: engine === 'sqlite' ? batch.seq : null,
        type: event.type,
        at: event.at,
        agentId: event.agentId ?? null,
        channelId: 'channelId' in event ? event.channelId : null,
        data: event.data,
      });
    },
    getEventCounter: async () => (numbers ? await number() : ((await last()) ?? (await counter()))) ?? 0,
    /** The number of the oldest stored event; null if there is none. */
    getOldestEvent: value(() => db.selectFrom('events').select((eb) => eb.fn.min('seq').as('seq'))),
    // What is stored came through `appendEvent`, so type and data belong together.
    listEvents: (async (p: { after: number; limit: number }) => {
      if (numbers) await number();
      return list(p);
    }) as Events['listEvents'],
  };
}
