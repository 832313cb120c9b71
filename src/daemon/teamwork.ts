import type { Config } from '../config/config.ts';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { createLive, type Live } from '../core/live.ts';
import type { Tracer } from '../core/tracing.ts';
import { dueMessages } from '../messaging/due.ts';
import { terminateAgent } from '../messaging/tree.ts';
import { endProcessGroup } from '../providers/process.ts';
import type { Provider } from '../providers/provider.ts';
import { dueTimers, type FireTimer } from '../runs/due-timers.ts';
import { cancelRun } from '../runs/endings.ts';
import { ExternalRuns } from '../runs/external.ts';
import { resumeAgent } from '../runs/pause.ts';
import { recoverRuns } from '../runs/recovery.ts';
import { type AskPersona, runTurn, type TurnDependencies } from '../runs/run-turn.ts';
import { Scheduler } from '../runs/scheduler.ts';
import { createSlots } from '../runs/slots.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { AgentView, Store, Tx } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import { createRateLimiter } from '../tools/rate.ts';
import { settleWorkspace } from '../workspaces/remove.ts';
import { runsPerDayOf } from './allowances.ts';
import { messagesOfRuns as correspondence } from './correspondence.ts';
import type { Home } from './home.ts';
import type { LazyExtensions } from './lazy-extensions.ts';
import type { Log } from './log.ts';
import { askPersona, findPersona } from './personas.ts';
import { checkTools, type ProviderLimits, pricesOf, providerSlots } from './providers.ts';
import { workspaceRules } from './workspaces.ts';

export interface TeamworkOptions {
  readonly store: Store;
  readonly clock: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly config: Pick<Config, 'daemon' | 'limits' | 'people'> & {
    readonly sandbox: Pick<Config['sandbox'], 'roots' | 'network'>;
    readonly providers: ProviderLimits;
  };
  readonly home: Pick<Home, 'path' | 'nodeId'>;
  readonly providers: Pick<ReadonlyMap<string, Provider>, 'get'>;
  readonly sandbox: Pick<Sandbox, 'mode'>;
  readonly knowledge: Knowledge;
  readonly extensions: Pick<LazyExtensions, 'personas' | 'customTools' | 'onCustomToolsChange'>;
  readonly boot: string;
  /** A new id at each start. */
  readonly incarnation: string;
  /** How often the scheduler polls for runs of other processes; null if other processes cannot create runs. */
  readonly pollMs: number | null;
  /** The function that fires for each kind of timer. */
  readonly timers: ReadonlyMap<string, FireTimer>;
  readonly openDoor: TurnDependencies['openDoor'];
  readonly onAgentCreated: ToolDependencies['onAgentCreated'];
  /** Called after every turn. The agent may be terminated. */
  readonly onTurnEnded: (agentId: string) => void;
  /** Null if tracing is off. */
  readonly tracer: Tracer | null;
  readonly log: Log;
}

/** Messaging, runs and tools, wired together. */
export interface Teamwork {
  readonly tools: ToolDependencies;
  readonly external: ExternalRuns;
  readonly scheduler: Scheduler;
  /** What turns do at this moment. */
  readonly live: Live;
  /** Ends the runs that a daemon left on the node. Returns the ids of their agents. */
  recover(nodeId: string, died: boolean, afterwards?: (tx: Tx) => Promise<void>): Promise<readonly string[]>;
  /** Returns the agent of the run. */
  cancelRun(runId: string, reason: string): Promise<Agent | null>;
  /** Returns the agent and its descendants, all terminated now. */
  terminateAgent(agentId: string, reason: string): Promise<readonly Agent[]>;
  /** Lets a paused agent run again. */
  resumeAgent(agentId: string): Promise<AgentView>;
}

/** Connects messaging, runs and tools, which do not import each other. The daemon and the tests of the rules use it. */
export function createTeamwork(options: TeamworkOptions): Teamwork {
  const { store, clock, config, home, providers, extensions, boot, incarnation, tracer, log } = options;
  const { nodeId } = home;
  const { maxAttempts, maxDeaths, turnTimeoutMs, leaseMs, requestDeadlineMs } = config.daemon;
  const { maxChainDepth, maxTreeRuns, toolCallsPerMinute } = config.limits;
  const runsPerDay = runsPerDayOf(config);
  const live = createLive();
  const ask: AskPersona = (agent, limits) => askPersona(extensions.personas, agent, limits);
  const scheduler: Scheduler = new Scheduler({
    store,
    clock,
    monotonic: options.monotonic,
    nodeId,
    incarnation,
    slots: createSlots(config.daemon.slots, providerSlots(config)),
    leaseMs,
    maxTreeRuns,
    runsPerDay,
    maxAttempts,
    maxDeaths,
    boot,
    pollMs: options.pollMs,
    correspondence,
    due: [...dueMessages({ turnTimeoutMs }), dueTimers({ handlers: options.timers, log })],
    runTurn: async (started, signal) => {
      await runTurn(turn, started, signal);
      options.onTurnEnded(started.agent.id);
    },
    tracer,
    log,
  });
  const tools: ToolDependencies = {
    store,
    clock,
    log,
    limiter: createRateLimiter(toolCallsPerMinute),
    settings: {
      rules: { requestDeadlineMs, maxChainDepth, runsPerDay },
      limits: config.limits,
      nodeId,
      defaultProvider: config.daemon.defaultProvider,
      workspaces: workspaceRules(config, home, options.sandbox.mode, (agentId) => scheduler.isLive(agentId)),
      knowledge: options.knowledge,
      customTools: () => extensions.customTools(),
      onCustomToolsChange: (listener) => extensions.onCustomToolsChange(listener),
      findPersona: (choice) => findPersona(extensions.personas, choice),
      checkTools: (agent, custom) => checkTools(providers.get(agent.provider), agent, custom),
    },
    onAgentCreated: options.onAgentCreated,
    onWorkspaceChanged: (workspace) => settleWorkspace(store, workspace),
  };
  const external = new ExternalRuns({
    store,
    clock,
    nodeId,
    incarnation,
    correspondence,
    askPersona: ask,
    turnTimeoutMs,
    tracer,
    log,
  });
  const turn: TurnDependencies = {
    store,
    clock,
    correspondence,
    provider: (name) => providers.get(name) ?? null,
    live,
    prices: (name, model) => pricesOf(config, name, model),
    openDoor: options.openDoor,
    askPersona: ask,
    maxAttempts,
    turnTimeoutMs,
    log,
  };
  return {
    tools,
    external,
    scheduler,
    live,
    recover: (of, died, afterwards) =>
      recoverRuns({
        store,
        clock,
        nodeId: of,
        maxAttempts,
        deaths: { maxDeaths, boot: of === nodeId ? boot : null },
        died,
        correspondence,
        write: (work) =>
          store.write(async (tx) => {
            await work(tx);
            await afterwards?.(tx);
          }),
        endProcessGroup,
      }),
    cancelRun: async (runId, reason) => {
      const agent = await store.write(async (tx) => {
        await cancelRun(tx, correspondence, runId, reason, clock());
        return tx.agents.getAgent({ id: (await tx.runs.getRun({ id: runId }))?.agentId ?? '' });
      });
      scheduler.abort(runId);
      return agent;
    },
    terminateAgent: async (agentId, reason) => {
      const { fenced, ended } = await store.write(async (tx) => {
        const agent = await tx.agents.getAgent({ id: agentId });
        if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
        if (agent.terminatedAt !== null) throw new SubstratError('conflict', `${agent.handle} is terminated already.`);
        const ended = await tx.agents.listSubtree({ id: agentId });
        return { ended, fenced: await terminateAgent(tx, agent, reason, clock()) };
      });
      for (const runId of fenced) scheduler.abort(runId);
      return ended;
    },
    resumeAgent: (agentId) =>
      store.write(async (tx) => {
        const agent = await tx.agents.getAgent({ id: agentId });
        if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
        if (agent.pausedAt === null) throw new SubstratError('conflict', `${agent.handle} is not paused.`);
        await resumeAgent(tx, correspondence, agent, { turnTimeoutMs }, clock());
        return (await tx.agents.getAgentView({ id: agentId })) as AgentView;
      }),
  };
}
