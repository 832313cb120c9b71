import { sql } from 'kysely';
import { isOneOf, listOf } from './key-list.ts';
import { messageRemoval } from './message-removal.ts';
import type { Queries } from './query.ts';
import type { Retention } from './tx.ts';
import type { ChangePlace, Pruned, PruneStep, RunCursor } from './views.ts';

/**
 * Removes old data in steps: each is a short transaction. Undelivered or unanswered messages and unfinished runs
 * stay, however old they are.
 */
export function retentionQueries(queries: Queries): Retention {
  const { db, all, run, engine, fetch } = queries;
  const removeMessages = messageRemoval(queries);
  const oldEvents = all((p: { limit: number }) =>
    db
      .selectFrom('events')
      .select(['seq', 'at'])
      .where('seq', 'is not', null)
      .$narrowType<{ seq: number }>()
      .orderBy('seq')
      .limit(p.limit),
  );
  const removeEvents = run((p: { seq: number }) => db.deleteFrom('events').where('seq', '<', p.seq));
  const keepCounter = run((p: { seq: number }) =>
    db.updateTable('counters').set({ value: p.seq }).where('name', '=', 'event').where('value', '<', p.seq),
  );
  const oldPosts = all((p: { before: number; limit: number }) =>
    db
      .selectFrom('posts')
      .select(['participantId', 'key'])
      .where('createdAt', '<', p.before)
      .orderBy('createdAt')
      .limit(p.limit),
  );
  const removePost = run((p: { participantId: string; key: string }) =>
    db.deleteFrom('posts').where('participantId', '=', p.participantId).where('key', '=', p.key),
  );

  const runsFrom = all((p: { seq: number; id: string; limit: number }) =>
    db
      .selectFrom('runs')
      .select(['id', 'seq', 'state', 'createdAt', 'endedAt'])
      .where((eb) => eb(eb.refTuple('seq', 'id'), '>', eb.tuple(p.seq, p.id)))
      .orderBy('seq')
      .orderBy('id')
      .limit(p.limit),
  );
  /** The runs in a window that ended before, and where the next window starts. */
  const endedRuns = async ({ before, after, limit }: PruneStep<RunCursor>) => {
    const rows = await runsFrom({ ...after, limit });
    const old = rows.filter((row) => row.createdAt < before);
    const ended = old.filter(
      ({ state, endedAt }) => state !== 'created' && state !== 'running' && (endedAt ?? before) < before,
    );
    const last = rows.at(-1);
    return {
      ids: ended.map(({ id }) => id),
      next: last && old.length > 0 ? { seq: last.seq, id: last.id } : null,
    };
  };
  const removeRecords = run((p: { ids: unknown; limit: number }) => {
    const key = sql.ref(engine === 'sqlite' ? 'rowid' : 'ctid');
    return db
      .deleteFrom('run_messages')
      .where(
        sql<boolean>`${key} in (select ${key} from run_messages where ${isOneOf(engine, 'runId', p.ids, 'text')} limit ${p.limit})`,
      );
  });
  const removeRuns = run((p: { ids: unknown }) =>
    db
      .deleteFrom('runs')
      .where(isOneOf(engine, 'runs.id', p.ids, 'text'))
      .where('runs.tallied', '=', true)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('run_messages').select('n').whereRef('run_messages.runId', '=', 'runs.id'))),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('deliveries')
              .select('deliveries.messageId')
              .whereRef('deliveries.runId', '=', 'runs.id')
              .where('deliveries.state', '=', 'injected'),
          ),
        ),
      ),
  );
  /** Of runs that are gone. */
  const removeUsage = run((p: { ids: unknown }) =>
    db
      .deleteFrom('run_usage')
      .where(isOneOf(engine, 'run_usage.runId', p.ids, 'text'))
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('runs').select('runs.id').whereRef('runs.id', '=', 'run_usage.runId'))),
      ),
  );

  const messagesFrom = all((p: { seq: number; limit: number }) =>
    db.selectFrom('messages').select(['seq', 'createdAt']).where('seq', '>', p.seq).orderBy('seq').limit(p.limit),
  );
  /** Delivered and answered, not part of a live run, and not in a thread that is still needed. */
  const settledMessages = all((p: { from: number; to: number; before: number }) =>
    db
      .selectFrom('messages')
      .select('messages.id')
      .where('messages.seq', '>', p.from)
      .where('messages.seq', '<=', p.to)
      .where('messages.createdAt', '<', p.before)
      .where(({ not, exists, selectFrom, and }) =>
        and([
          not(
            exists(
              selectFrom('deliveries')
                .select('deliveries.seq')
                .whereRef('deliveries.messageId', '=', 'messages.id')
                .where('deliveries.state', 'in', ['pending', 'injected']),
            ),
          ),
          not(
            exists(
              selectFrom('requests as own')
                .select('own.seq')
                .whereRef('own.messageId', '=', 'messages.id')
                .where('own.state', '=', 'open'),
            ),
          ),
          not(
            exists(
              selectFrom('requests as child')
                .select('child.seq')
                .whereRef('child.parentId', '=', 'messages.id')
                .where('child.state', '=', 'open'),
            ),
          ),
          not(
            exists(
              selectFrom('runs as about')
                .select('about.seq')
                .whereRef('about.triggerId', '=', 'messages.id')
                .where('about.state', 'in', ['created', 'running']),
            ),
          ),
          not(
            exists(
              selectFrom('runs as serving')
                .select('serving.seq')
                .whereRef('serving.serves', '=', 'messages.id')
                .where('serving.state', 'in', ['created', 'running']),
            ),
          ),
          not(
            exists(selectFrom('messages as reply').select('reply.seq').whereRef('reply.threadId', '=', 'messages.id')),
          ),
        ]),
      ),
  );
  const changesFrom = all((p: { blockId: string; version: number; limit: number }) =>
    db
      .selectFrom('block_changes')
      .select(['blockId', 'version'])
      .where((eb) => eb(eb.refTuple('blockId', 'version'), '>', eb.tuple(p.blockId, p.version)))
      .orderBy('blockId')
      .orderBy('version')
      .limit(p.limit),
  );
  const removeChanges = (from: ChangePlace, to: ChangePlace, before: number) =>
    fetch(
      db
        .deleteFrom('block_changes')
        .where((eb) => eb(eb.refTuple('blockId', 'version'), '>', eb.tuple(from.blockId, from.version)))
        .where((eb) => eb(eb.refTuple('blockId', 'version'), '<=', eb.tuple(to.blockId, to.version)))
        .where('at', '<', before)
        // The current text of the block is the last entry of its history.
        .where('version', '<', (eb) =>
          eb.selectFrom('blocks').select('blocks.version').whereRef('blocks.id', '=', 'block_changes.blockId'),
        )
        .returning('version'),
    );

  return {
    /** From the oldest up to the first that is recent enough. The last number stays known. */
    pruneEvents: async ({ before, limit }: { before: number; limit: number }): Promise<number> => {
      const rows = await oldEvents({ limit });
      const young = rows.findIndex(({ at }) => at >= before);
      const count = young < 0 ? rows.length : young;
      const last = rows[count - 1];
      if (!last) return 0;
      await keepCounter({ seq: last.seq });
      return removeEvents({ seq: last.seq + 1 });
    },
    /** Stored responses of old idempotent posts. */
    pruneResponses: async (p: { before: number; limit: number }): Promise<number> => {
      const rows = await oldPosts(p);
      for (const row of rows) await removePost(row);
      return rows.length;
    },
    /** Records of ended runs; a run with many records takes several steps. */
    pruneRecords: async (step: PruneStep<RunCursor>): Promise<Pruned<RunCursor>> => {
      const { ids, next } = await endedRuns(step);
      const removed = ids.length === 0 ? 0 : await removeRecords({ ids: listOf(engine, ids), limit: step.limit });
      return { removed, next: removed < step.limit ? next : step.after };
    },
    /** Ended runs whose records are gone and whose usage is in the totals. */
    pruneRuns: async (step: PruneStep<RunCursor>): Promise<Pruned<RunCursor>> => {
      const { ids, next } = await endedRuns(step);
      if (ids.length === 0) return { removed: 0, next };
      const removed = await removeRuns({ ids: listOf(engine, ids) });
      await removeUsage({ ids: listOf(engine, ids) });
      return { removed, next };
    },
    pruneMessages: async ({ before, after, limit }: PruneStep<number>): Promise<Pruned<number>> => {
      const rows = await messagesFrom({ seq: after, limit });
      const old = rows.filter(({ createdAt }) => createdAt < before);
      const to = rows.at(-1)?.seq;
      if (to === undefined || old.length === 0) return { removed: 0, next: null };
      const settled = await settledMessages({ from: after, to, before });
      const ids = listOf(
        engine,
        settled.map(({ id }) => id),
      );
      if (settled.length > 0) await removeMessages(ids);
      return { removed: settled.length, next: to };
    },
    /** Earlier texts of blocks. */
    pruneHistory: async ({ before, after, limit }: PruneStep<ChangePlace>): Promise<Pruned<ChangePlace>> => {
      const rows = await changesFrom({ ...after, limit });
      const last = rows.at(-1);
      if (!last) return { removed: 0, next: null };
      const next = { blockId: last.blockId, version: last.version };
      return { removed: (await removeChanges(after, next, before)).length, next };
    },
  };
}
