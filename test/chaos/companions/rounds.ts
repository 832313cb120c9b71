import { setTimeout as sleep } from 'node:timers/promises';
import { untilDone } from '../patience.ts';
import { queryStore } from '../query-store.ts';
import { type CreateCompanion, SIDE } from './companion.ts';

export const ROOM = 'room';
export const ROOM_MEMBERS = ['ron', 'rae', 'ray'];

/** A person who posts in a channel: every post exists once, and each member gets it once. */
export const createRounds: CreateCompanion = (daemon, random) => {
  const posted = new Map<string, string>();

  return {
    async work(more) {
      for (let n = 1; more(); n += 1) {
        const text = `${SIDE}post ${n}`;
        const post = () => daemon.client.postMessage(ROOM, { text }, { idempotencyKey: `post-${n}` });
        posted.set((await untilDone(daemon, post)).messageId, text);
        await sleep(500 + random() * 1000);
      }
    },
    async faults() {
      const rows = queryStore<{ id: string; text: string; members: string; states: string }>(
        daemon.home,
        `select m.id, m.text, group_concat(p.handle) members, group_concat(distinct d.state) states
         from messages m join deliveries d on d.message_id = m.id join participants p on p.id = d.agent_id
         where m.text like '${SIDE}post %' group by m.id`,
      );
      const found = new Map(rows.map((row) => [row.id, row]));
      const everybody = ROOM_MEMBERS.toSorted().join();
      return [
        ...(posted.size === 0 ? ['nothing was posted'] : []),
        ...(rows.length === posted.size ? [] : [`${rows.length} posts are there, ${posted.size} were made`]),
        ...[...posted].flatMap(([id, text]) => {
          const row = found.get(id);
          if (row?.text !== text) return [`"${text}" is not there`];
          if (row.members.split(',').toSorted().join() !== everybody) return [`"${text}" went to ${row.members}`];
          return row.states === 'acknowledged' ? [] : [`"${text}" is ${row.states}`];
        }),
      ];
    },
  };
};
