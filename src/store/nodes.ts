import { sql } from 'kysely';
import type { NodeRecord } from '../core/node.ts';
import type { NodeRequests, Nodes } from './node-tx.ts';
import type { Queries } from './query.ts';
import type { NodeLoad, NodeView } from './views.ts';

type Registered = Parameters<Nodes['registerNode']>[0];

export function nodeQueries(queries: Queries): Omit<Nodes, keyof NodeRequests> {
  const { db, all, one, value, put, run, change, attempt } = queries;
  /** Heartbeats are compared by one clock: nodes need not agree on the time. */
  const time = (now: number) =>
    queries.engine === 'postgres'
      ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
      : sql<number>`${now}`;
  const databaseTime = value(() => db.selectNoFrom(time(0).as('now')));
  const listRegistered = all(() => db.selectFrom('nodes').selectAll().orderBy('id'));
  const countAgents = all(() =>
    db
      .selectFrom('agents')
      .select(['nodeId', (eb) => eb.fn.countAll<number>().as('n')])
      .where('terminatedAt', 'is', null)
      .groupBy('nodeId')
      .orderBy('nodeId'),
  );
  const countRuns = all(() =>
    db
      .selectFrom('runs')
      .select(['nodeId', 'state', (eb) => eb.fn.countAll<number>().as('n')])
      .where('state', 'in', ['created', 'running'])
      .groupBy(['nodeId', 'state']),
  );
  const upsert = put((p: Registered) =>
    db
      .insertInto('nodes')
      .values({
        id: p.id,
        name: p.name,
        host: p.host,
        home: p.home,
        incarnation: p.incarnation,
        version: p.version,
        labels: p.labels,
        providers: p.providers,
        shared: p.shared,
        wipRemote: p.wipRemote,
        slots: p.slots,
        deadAfterMs: p.deadAfterMs,
        startedAt: p.startedAt,
        clockAt: p.clockAt,
        seenAt: time(p.clockAt as number),
      })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((eb) => ({
          name: eb.ref('excluded.name'),
          host: eb.ref('excluded.host'),
          home: eb.ref('excluded.home'),
          incarnation: eb.ref('excluded.incarnation'),
          version: eb.ref('excluded.version'),
          labels: eb.ref('excluded.labels'),
          providers: eb.ref('excluded.providers'),
          shared: eb.ref('excluded.shared'),
          wipRemote: eb.ref('excluded.wipRemote'),
          slots: eb.ref('excluded.slots'),
          deadAfterMs: eb.ref('excluded.deadAfterMs'),
          startedAt: eb.ref('excluded.startedAt'),
          clockAt: eb.ref('excluded.clockAt'),
          seenAt: eb.ref('excluded.seenAt'),
          stoppedAt: null,
          lostAt: null,
        })),
      ),
  );
  const adopt = {
    agents: run((p: { from: string; to: string }) =>
      db.updateTable('agents').set({ nodeId: p.to }).where('nodeId', '=', p.from),
    ),
    workspaces: run((p: { from: string; to: string }) =>
      db.updateTable('workspaces').set({ nodeId: p.to }).where('nodeId', '=', p.from),
    ),
    runs: run((p: { from: string; to: string }) =>
      db.updateTable('runs').set({ nodeId: p.to }).where('nodeId', '=', p.from).where('state', '=', 'created'),
    ),
  };
  const remove = put((p: { id: string }) => db.deleteFrom('nodes').where('id', '=', p.id));
  const settle = change('agent', (p: { id: string; nodeId: string; workspaceId: string; workspace: string }) =>
    db
      .updateTable('agents')
      .set({ nodeId: p.nodeId, workspaceId: p.workspaceId, workspace: p.workspace })
      .where('id', '=', p.id),
  );
  const sendRun = run((p: { id: string; nodeId: string }) =>
    db.updateTable('runs').set({ nodeId: p.nodeId }).where('agentId', '=', p.id).where('state', '=', 'created'),
  );

  return {
    readClock: async ({ now }: { now: number }): Promise<number> =>
      queries.engine === 'postgres' ? ((await databaseTime()) ?? now) : now,
    registerNode: (node: Registered) => upsert(node),
    trySeeNode: attempt((p: { id: string; incarnation: string; now: number }) =>
      db
        .updateTable('nodes')
        .set({ seenAt: time(p.now), clockAt: p.now, lostAt: null })
        .where('id', '=', p.id)
        .where('incarnation', '=', p.incarnation),
    ),
    tryStopNode: attempt((p: { id: string; incarnation: string; now: number }) =>
      db
        .updateTable('nodes')
        .set({ seenAt: time(p.now), clockAt: p.now, stoppedAt: time(p.now) })
        .where('id', '=', p.id)
        .where('incarnation', '=', p.incarnation),
    ),
    getNode: one((p: { id: string }) => db.selectFrom('nodes').selectAll().where('id', '=', p.id)),
    listNodes: async (): Promise<NodeView[]> => {
      const registered = await listRegistered();
      const ids = new Set(registered.map(({ id }) => id));
      const strangers = (await countAgents()).filter(({ nodeId }) => !ids.has(nodeId));
      return [
        ...registered.map((record) => ({ id: record.id, record })),
        ...strangers.map(({ nodeId }) => ({ id: nodeId, record: null })),
      ];
    },
    listLoads: async (): Promise<NodeLoad[]> => {
      const agents = new Map((await countAgents()).map(({ nodeId, n }) => [nodeId, n]));
      const runs = new Map((await countRuns()).map(({ nodeId, state, n }) => [`${nodeId} ${state}`, n]));
      const ids = new Set([...agents.keys(), ...[...runs.keys()].map((key) => key.split(' ')[0] as string)]);
      return [...ids].sort().map((id) => ({
        id,
        agents: agents.get(id) ?? 0,
        running: runs.get(`${id} running`) ?? 0,
        queued: runs.get(`${id} created`) ?? 0,
      }));
    },
    listSilent: all((p: { now: number }) =>
      db
        .selectFrom('nodes')
        .selectAll()
        .where('lostAt', 'is', null)
        .where((eb) => eb(eb('seenAt', '+', eb.ref('deadAfterMs')), '<', time(p.now)))
        .orderBy('id'),
    ) as (p: { now: number }) => Promise<NodeRecord[]>,
    tryLoseNode: attempt((p: { id: string; seenAt: number; now: number }) =>
      db
        .updateTable('nodes')
        .set({ lostAt: time(p.now) })
        .where('id', '=', p.id)
        .where('seenAt', '=', p.seenAt)
        .where('lostAt', 'is', null),
    ),
    setDraining: change('node', (p: { id: string; at: number | null }) =>
      db.updateTable('nodes').set({ drainingAt: p.at }).where('id', '=', p.id),
    ),
    removeNode: remove,
    adoptNode: async (p: { from: string; to: string }): Promise<number> => {
      const agents = await adopt.agents(p);
      await adopt.workspaces(p);
      await adopt.runs(p);
      await remove({ id: p.from });
      return agents;
    },
    moveAgent: async (p: { id: string; nodeId: string; workspaceId: string; workspace: string }): Promise<void> => {
      await settle(p);
      await sendRun({ id: p.id, nodeId: p.nodeId });
    },
  };
}
