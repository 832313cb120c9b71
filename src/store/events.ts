import type { NewEvent } from '../core/event.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { EventRow } from './schema.ts';
import type { Events } from './tx.ts';

export function eventQueries({ db, value, put, all }: Queries, batch: BatchState): Events {
  const last = value(() => db.selectFrom('events').select((eb) => eb.fn.max('seq').as('seq')));
  const counter = value(() => db.selectFrom('counters').select('value').where('name', '=', 'event'));
  const insert = put((p: EventRow) =>
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
    /** Numbered without gaps in commit order: writers are serial, and a failing writer returns its numbers. */
    appendEvent: async (event: NewEvent): Promise<number> => {
      batch.seq += 1;
      const seq = batch.seq;
      await insert({
        seq,
        type: event.type,
        at: event.at,
        agentId: event.agentId ?? null,
        channelId: 'channelId' in event ? event.channelId : null,
        data: event.data,
      });
      return seq;
    },
    getEventCounter: async () => (await last()) ?? (await counter()) ?? 0,
    /** The number of the oldest stored event; null if there is none. */
    getOldestEvent: value(() => db.selectFrom('events').select((eb) => eb.fn.min('seq').as('seq'))),
    // What is stored came through `appendEvent`, so type and data belong together.
    listEvents: all((p: { after: number; limit: number }) =>
      db.selectFrom('events').selectAll().where('seq', '>', p.after).orderBy('seq').limit(p.limit),
    ) as Events['listEvents'],
  };
}
