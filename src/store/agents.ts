import { type ExpressionBuilder, sql } from 'kysely';
import type { Agent } from '../core/agent.ts';
import { MOST_COUNTED } from '../core/counts.ts';
import type { AgentId } from '../core/ids.ts';
import type { Metadata } from '../core/metadata.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { RunState } from '../core/run.ts';
import { narrow, type Scope } from '../core/scope.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import type { Agents } from './tx.ts';
import type { AgentCursor, AgentView, SeatChange } from './views.ts';

export function agentQueries({ db, all, one, put, change, fetch }: Queries, batch: BatchState): Agents {
  const insertParticipant = put((p: { id: string; handle: string; handleKey: string; createdAt: number }) =>
    db.insertInto('participants').values({
      id: p.id,
      kind: 'agent',
      handle: p.handle,
      handleKey: p.handleKey,
      createdAt: p.createdAt,
    }),
  );
  const insertTree = put((p: { id: string }) =>
    db.insertInto('trees').values({ id: p.id, runsSincePerson: 0, lastClaim: 0, toldPaused: false }),
  );
  const gate = change('agent', (p: { id: AgentId; at: number | null }) =>
    db.updateTable('agents').set({ gatedAt: p.at, permitted: false, gateTold: false }).where('id', '=', p.id),
  );
  const permit = change('agent', (p: { id: AgentId }) =>
    db.updateTable('agents').set({ permitted: true }).where('id', '=', p.id),
  );
  const note = change('agent', (p: { id: AgentId; metadata: Metadata }) =>
    db.updateTable('agents').set({ metadata: p.metadata }).where('id', '=', p.id),
  );
  const insertAgent = (agent: Agent) => fetch(db.insertInto('agents').values(agent));
  const views = () =>
    db
      .selectFrom('agents')
      // An agent has at most one live run. The literals match the condition of the partial index of live runs.
      .leftJoin('runs as live', (join) =>
        join
          .onRef('live.agentId', '=', 'agents.id')
          .on('live.state', 'in', [sql.lit<RunState>('created'), sql.lit<RunState>('running')]),
      )
      .leftJoin('nodes', 'nodes.id', 'agents.nodeId')
      .leftJoin('workspaces as seat', 'seat.id', 'agents.workspaceId')
      .leftJoin('wips', 'wips.workspaceId', 'agents.workspaceId')
      .leftJoin('sessions', (join) =>
        join
          .onRef('sessions.agentId', '=', 'agents.id')
          // Of what executes its turns now, as `seated` in core has it.
          .on('sessions.provider', '=', sql<string>`coalesce(agents.acting_provider, agents.provider)`)
          .on(
            'sessions.account',
            '=',
            sql<string>`case when agents.acting_provider is null then agents.account else agents.acting_account end`,
          )
          .onRef('sessions.insidePath', '=', 'agents.workspace'),
      )
      .selectAll('agents')
      .select([
        'live.state as runState',
        'live.createdAt as runCreatedAt',
        'live.notBefore as runNotBefore',
        'live.failedAt as runFailedAt',
        'live.error as runError',
        'live.budgetId as runBudgetId',
        'live.progress as runProgress',
        'live.progressReason as runProgressReason',
        'live.progressSince as runProgressSince',
        'nodes.name as nodeName',
        'nodes.lostAt as nodeLostAt',
        'nodes.shared as nodeShared',
        'sessions.handle as sessionHandle',
        'sessions.snapshot as sessionSnapshot',
        'nodes.wipRemote as nodeWipRemote',
        'wips.remote as wipRemote',
        'wips.hash as wipHash',
        'wips.runId as wipRunId',
        'wips.saved as wipSaved',
        'wips.problem as wipProblem',
        'wips.leftOut as wipLeftOut',
      ])
      .select((eb) => [
        eb
          .case()
          .when('live.state', '=', sql.lit<RunState>('running'))
          .then(sql.lit(1))
          .else(sql.lit(0))
          .end()
          .as('running'),
        eb
          .case()
          .when(
            eb.and([
              sql<boolean>`(seat.made = 0 or wips.workspace_id is not null)`,
              eb('seat.viewOf', 'is', null),
              eb('seat.repository', 'is', null),
              eb.not(
                eb.exists(eb.selectFrom('links').select('links.target').whereRef('links.workspaceId', '=', 'seat.id')),
              ),
            ]),
          )
          .then(sql<boolean>`1`)
          .else(sql<boolean>`0`)
          .end()
          .as('plain'),
        eb
          .selectFrom('requests')
          .select(eb.fn.countAll<number>().as('n'))
          .whereRef('requests.askerId', '=', 'agents.id')
          .where('requests.state', '=', sql.lit('open'))
          .as('asking'),
        eb
          .selectFrom((inner) =>
            inner
              .selectFrom('deliveries')
              .select('deliveries.seq')
              .whereRef('deliveries.agentId', '=', 'agents.id')
              .where('deliveries.state', '=', sql.lit('pending'))
              .where('deliveries.round', '<', sql.lit(2))
              .limit(sql.lit(MOST_COUNTED))
              .as('some'),
          )
          .select(eb.fn.countAll<number>().as('n'))
          .as('pending'),
      ]);

  const scopes = all((p: { id: string }) =>
    db
      .withRecursive('above', (q) =>
        q
          .selectFrom('agents')
          .select(['id', 'parentId', 'tools'])
          .where('id', '=', p.id)
          .unionAll(
            q
              .selectFrom('agents')
              .innerJoin('above', 'agents.id', 'above.parentId')
              .select(['agents.id', 'agents.parentId', 'agents.tools']),
          ),
      )
      .selectFrom('above')
      .select('tools')
      .where('tools', 'is not', null),
  );
  const treeSize = one((p: { treeId: string }) =>
    db
      .selectFrom('agents')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('treeId', '=', p.treeId)
      .where('terminatedAt', 'is', null),
  );
  const childCount = one((p: { id: string }) =>
    db
      .selectFrom('agents')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('parentId', '=', p.id)
      .where('terminatedAt', 'is', null),
  );

  const livingNamed = (p: { nameKey: string }) =>
    db
      .selectFrom('agents')
      .selectAll('agents')
      .where('agents.nameKey', '=', p.nameKey)
      .where('terminatedAt', 'is', null);
  const onceNamed = (p: { nameKey: string }) =>
    db
      .selectFrom('former_names')
      .innerJoin('agents', 'agents.id', 'former_names.agentId')
      .selectAll('agents')
      .where('former_names.nameKey', '=', p.nameKey)
      .where('terminatedAt', 'is', null);
  /** One hop away; a root has no siblings. */
  const isNeighbour = (eb: ExpressionBuilder<Schema, 'agents'>, p: { id: string; parentId: string }) =>
    eb.and([
      eb('agents.id', '<>', p.id),
      eb.or([eb('parentId', '=', p.id), eb('parentId', '=', p.parentId), eb('agents.id', '=', p.parentId)]),
    ]);
  type Neighbour = { id: string; parentId: string; nameKey: string };
  const neighbourNamed = one((p: Neighbour) => livingNamed(p).where((eb) => isNeighbour(eb, p)));
  const neighbourOnceNamed = one((p: Neighbour) => onceNamed(p).where((eb) => isNeighbour(eb, p)));
  const rootNamed = one((p: { nameKey: string }) => livingNamed(p).where('parentId', 'is', null));
  const rootOnceNamed = one((p: { nameKey: string }) => onceNamed(p).where('parentId', 'is', null));

  return {
    insertAgent: async (agent: Agent): Promise<void> => {
      const handleKey = agent.handle.toLowerCase();
      await insertParticipant({ id: agent.id, handle: agent.handle, handleKey, createdAt: agent.createdAt });
      if (agent.parentId === null) await insertTree({ id: agent.id });
      await insertAgent(agent);
    },
    getAgent: one((p: { id: string }) => db.selectFrom('agents').selectAll().where('id', '=', p.id)),
    getAgentView: one((p: { id: string }) => views().where('agents.id', '=', p.id)) as (p: {
      id: string;
    }) => Promise<AgentView | null>,
    /** Living parent, children and siblings, oldest first. */
    listNeighbours: (agent: Pick<Agent, 'id' | 'parentId'>) =>
      fetch(
        views()
          .where('terminatedAt', 'is', null)
          .where('agents.id', '<>', agent.id)
          .where((eb) =>
            eb.or([
              eb('agents.id', '=', agent.parentId),
              eb('parentId', '=', agent.parentId),
              eb('parentId', '=', agent.id),
            ]),
          )
          .orderBy('agents.createdAt')
          .orderBy('agents.id'),
      ) as Promise<AgentView[]>,
    getNeighbour: async (p: { id: string; parentId: string; nameKey: string }): Promise<Agent | null> =>
      (await neighbourNamed(p)) ?? neighbourOnceNamed(p),
    /** Living siblings; roots have none. */
    listSiblings: all((p: { id: string; parentId: string }) =>
      db
        .selectFrom('agents')
        .selectAll()
        .where('parentId', '=', p.parentId)
        .where('id', '<>', p.id)
        .where('terminatedAt', 'is', null)
        .orderBy('createdAt')
        .orderBy('id'),
    ),
    listChildren: all((p: { id: string }) =>
      db
        .selectFrom('agents')
        .selectAll()
        .where('parentId', '=', p.id)
        .where('terminatedAt', 'is', null)
        .orderBy('createdAt')
        .orderBy('id'),
    ),
    getRootByName: async (p: { nameKey: string }): Promise<Agent | null> => (await rootNamed(p)) ?? rootOnceNamed(p),
    countTree: async (p: { treeId: string }): Promise<number> => (await treeSize(p))?.n ?? 0,
    countChildren: async (p: { id: string }): Promise<number> => (await childCount(p))?.n ?? 0,
    /** By name, oldest first: the candidates for a REF. */
    listAgentsNamed: all((p: { nameKey: string }) =>
      db
        .selectFrom('agents')
        .selectAll()
        .where('nameKey', '=', p.nameKey)
        .where('terminatedAt', 'is', null)
        .orderBy('createdAt')
        .orderBy('id'),
    ),
    listFormerlyNamed: all((p: { nameKey: string }) => onceNamed(p).orderBy('createdAt').orderBy('agents.id')),
    listAgentViews: ({ after, limit, all: everyone }: { after: AgentCursor | null; limit: number; all: boolean }) =>
      fetch(
        views()
          .$if(!everyone, (q) => q.where('terminatedAt', 'is', null))
          .$if(after !== null, (q) =>
            q
              .where('agents.createdAt', '>=', after?.createdAt ?? 0) // where the index starts
              .where((eb) =>
                eb.or([eb('agents.createdAt', '>', after?.createdAt ?? 0), eb('agents.id', '>', after?.id ?? '')]),
              ),
          )
          .orderBy('agents.createdAt')
          .orderBy('agents.id')
          .limit(limit),
      ) as Promise<AgentView[]>,
    /** The agent and its living descendants. */
    listSubtree: all((p: { id: string }) =>
      db
        .withRecursive('below', (q) =>
          q
            .selectFrom('agents')
            .select('id')
            .where('id', '=', p.id)
            .unionAll(
              q
                .selectFrom('agents')
                .innerJoin('below', 'agents.parentId', 'below.id')
                .select('agents.id')
                // Those below a terminated agent are terminated.
                .where('agents.terminatedAt', 'is', null),
            ),
        )
        .selectFrom('agents')
        .selectAll('agents')
        .where('agents.id', 'in', (eb) => eb.selectFrom('below').select('below.id'))
        .where('terminatedAt', 'is', null),
    ),
    /** The effective scope: the agent's own within those of all its ancestors. */
    getScope: async (p: { id: string }): Promise<Scope> =>
      (await scopes(p)).reduce<Scope>((scope, { tools }) => narrow(scope, tools), null),
    /** Its parent, the parent's parent, and so on. */
    listAncestors: all((p: { id: string }) =>
      db
        .withRecursive('above', (q) =>
          q
            .selectFrom('agents')
            .select(['parentId', 'depth'])
            .where('id', '=', p.id)
            .unionAll(
              q
                .selectFrom('agents')
                .innerJoin('above', 'agents.id', 'above.parentId')
                .select(['agents.parentId', 'agents.depth']),
            ),
        )
        .selectFrom('agents')
        .innerJoin('above', 'above.parentId', 'agents.id')
        .selectAll('agents')
        .orderBy('agents.depth', 'desc'),
    ),
    /** Sets the agent's own scope; `getScope` returns the effective one. */
    setScope: change('agent', (p: { id: string; tools: Scope }) =>
      db.updateTable('agents').set({ tools: p.tools }).where('id', '=', p.id),
    ),
    listAgentViewsOn: all((p: { nodeId: string }) =>
      views()
        .where('agents.nodeId', '=', p.nodeId)
        .where('agents.terminatedAt', 'is', null)
        .orderBy('agents.createdAt')
        .orderBy('agents.id'),
    ) as Agents['listAgentViewsOn'],
    listAgentsOn: all((p: { nodeId: string }) =>
      db.selectFrom('agents').selectAll().where('nodeId', '=', p.nodeId).where('terminatedAt', 'is', null),
    ),
    listExternalAgents: all((p: { nodeId: string }) =>
      db
        .selectFrom('agents')
        .selectAll()
        .where('provider', '=', EXTERNAL)
        .where('nodeId', '=', p.nodeId)
        .where('terminatedAt', 'is', null),
    ),
    setTerminated: change('agent', (p: { id: string; at: number }) =>
      db.updateTable('agents').set({ terminatedAt: p.at, completing: false }).where('id', '=', p.id),
    ),
    setPaused: change('agent', (p: { id: AgentId; at: number | null; reason: string | null }) =>
      db.updateTable('agents').set({ pausedAt: p.at, pausedReason: p.reason }).where('id', '=', p.id),
    ),
    setGate: async (p) => {
      await gate(p);
      // A run that waited may start.
      batch.runnable = true;
    },
    setPermitted: async (p) => {
      await permit(p);
      batch.runnable = true;
    },
    setMetadata: note,
    setGateTold: change('agent', (p: { id: AgentId }) =>
      db.updateTable('agents').set({ gateTold: true }).where('id', '=', p.id),
    ),
    restAgent: change('agent', (p: { id: AgentId; until: number; rests: number }) =>
      db.updateTable('agents').set({ restUntil: p.until, rests: p.rests }).where('id', '=', p.id),
    ),
    /** What executes its turns from now on. */
    setSeat: change('agent', (p: SeatChange) =>
      db
        .updateTable('agents')
        .set({
          account: p.account,
          actingProvider: p.actingProvider,
          actingModel: p.actingModel,
          actingAccount: p.actingAccount,
          seatNew: p.seatNew,
        })
        .where('id', '=', p.id),
    ),
    setSeatUsed: change('agent', (p: { id: AgentId }) =>
      db.updateTable('agents').set({ seatNew: false }).where('id', '=', p.id),
    ),
    setRestTold: change('agent', (p: { id: AgentId }) =>
      db.updateTable('agents').set({ restTold: true }).where('id', '=', p.id),
    ),
    setCompleting: change('agent', (p: { id: string }) =>
      db.updateTable('agents').set({ completing: true }).where('id', '=', p.id),
    ),
    /** The children that wait for the end of the attempt that spawned them. */
    listSpawned: all((p: { runId: string }) =>
      db.selectFrom('agents').select('id').where('spawnedBy', '=', p.runId).where('ready', '=', false),
    ),
    readySpawned: put((p: { runId: string }) =>
      db.updateTable('agents').set({ ready: true }).where('spawnedBy', '=', p.runId).where('ready', '=', false),
    ),
    /** A turn succeeded: clears rests. */
    settleAgent: change('agent', (p: { id: string }) =>
      db.updateTable('agents').set({ restUntil: 0, rests: 0, restTold: false, seatNew: false }).where('id', '=', p.id),
    ),
  };
}
