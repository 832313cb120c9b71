import type { Config } from '../config/config.ts';
import { type Agent, USER_ID } from '../core/agent.ts';
import { type BudgetView, type BudgetWish, readBudgetAnswer } from '../core/budget.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { createLive, type Live } from '../core/live.ts';
import type { PassageMeaning } from '../core/memory.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Run } from '../core/run.ts';
import type { Seat } from '../core/seat.ts';
import type { Tracer } from '../core/tracing.ts';
import { dueMessages } from '../messaging/due.ts';
import { openGate } from '../messaging/gates.ts';
import { terminateAgent } from '../messaging/tree.ts';
import { endProcessGroup } from '../providers/process.ts';
import type { Provider } from '../providers/provider.ts';
import { applyAnswer } from '../runs/budget-answers.ts';
import { listBudgets, moveDays, removeBudget, setBudget } from '../runs/budget-settings.ts';
import { STOP_AFTER_MS } from '../runs/budget-watch.ts';
import { type BudgetRules, isPriced } from '../runs/budgets.ts';
import { dueTimers, type FireTimer } from '../runs/due-timers.ts';
import { EchoWatch } from '../runs/echoes.ts';
import { cancelRun } from '../runs/endings.ts';
import { ExternalRuns } from '../runs/external.ts';
import { interruptRun } from '../runs/interrupt.ts';
import { pauseAgent, resumeAgent } from '../runs/pause.ts';
import { extendRun, ProgressWatch } from '../runs/progress.ts';
import { recoverRuns } from '../runs/recovery.ts';
import { type AskPersona, runTurn, type TurnDependencies } from '../runs/run-turn.ts';
import { Scheduler } from '../runs/scheduler.ts';
import { createSlots } from '../runs/slots.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { AgentView, Store, Tx } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import { guardOf } from '../tools/own-tools.ts';
import { createRateLimiter } from '../tools/rate.ts';
import type { AgentGit } from '../workspaces/agent-git.ts';
import { settleWorkspace } from '../workspaces/remove.ts';
import { peopleRules } from './allowances.ts';
import { checkBudget } from './budgets.ts';
import { changeInStore, type SettingsChanged, type SettingsWish } from './change-settings.ts';
import { messagesOfRuns as correspondence } from './correspondence.ts';
import { checkEnforced, type Enforcement, refusalsOf } from './enforcement.ts';
import type { Home } from './home.ts';
import type { LazyExtensions } from './lazy-extensions.ts';
import type { Log } from './log.ts';
import { askPersona, findPersona } from './personas.ts';
import { checkTools, keyOf, type ProviderLimits, pricesOf, providerSlots, thresholdsOf } from './providers.ts';
import { targetsOf } from './push.ts';
import { seatRules } from './seats.ts';
import { rearmTimers, timersOf } from './timers.ts';
import { workspaceRules } from './workspaces.ts';

export interface TeamworkOptions {
  readonly store: Store;
  readonly clock: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly config: Pick<Config, 'daemon' | 'limits' | 'people' | 'policies' | 'notify'> & {
    readonly sandbox: Pick<Config['sandbox'], 'roots' | 'network'>;
    readonly providers: ProviderLimits;
  };
  readonly home: Pick<Home, 'path' | 'nodeId'>;
  readonly providers: Pick<ReadonlyMap<string, Provider>, 'get'>;
  /** Whether a provider can take over for another one here. */
  readonly isReady: (seat: Seat) => boolean;
  readonly sandbox: Pick<Sandbox, 'mode'>;
  readonly git: AgentGit;
  readonly knowledge: Knowledge;
  readonly passageMeaning: PassageMeaning | null;
  readonly extensions: Pick<LazyExtensions, 'personas' | 'customTools' | 'onCustomToolsChange'>;
  readonly boot: string;
  /** A new id at each start. */
  readonly incarnation: string;
  /** How often the scheduler polls for runs of other processes; null if other processes cannot create runs. */
  readonly pollMs: number | null;
  /** The functions of further kinds of timers, for tests. */
  readonly timers?: ReadonlyMap<string, FireTimer>;
  readonly openDoor: TurnDependencies['openDoor'];
  readonly onAgentCreated: ToolDependencies['onAgentCreated'];
  readonly onClaimed: ToolDependencies['onClaimed'];
  /** Called after an agent has terminated these. */
  readonly onTerminated: (agents: readonly Agent[]) => Promise<void>;
  /** How long a turn whose budget is used up may finish its tool calls. */
  readonly stopAfterMs?: number;
  /** Called after every turn. The agent may be terminated. */
  readonly onTurnEnded: (agentId: string) => void;
  /** Stores the session of an agent whose turn has ended well. Null if it is not stored. */
  readonly saveSession: TurnDependencies['saveSession'];
  readonly saveWork: TurnDependencies['saveWork'];
  readonly watch: TurnDependencies['watch'];
  /** Null if tracing is off. */
  readonly tracer: Tracer | null;
  readonly log: Log;
}

export interface PauseWish {
  readonly reason: string;
  /** End the attempt in progress. */
  readonly now: boolean;
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
  /** Ends the attempt in progress; the run is tried again. Returns the agent of the run. */
  restartRun(runId: string): Promise<Agent>;
  /** The person does not want to be told before then that the run makes no progress. */
  extendRun(runId: string, until: number): Promise<void>;
  /** Returns the agent and its descendants, all terminated now. */
  terminateAgent(agentId: string, reason: string): Promise<readonly Agent[]>;
  changeSettings(agentId: string, wish: SettingsWish): Promise<SettingsChanged>;
  /** Sets a limit, or changes it. */
  setBudget(tx: Tx, wish: BudgetWish): Promise<BudgetView>;
  /** Makes the days of budgets those of the time zones in the configuration. */
  moveDays(tx: Tx): Promise<void>;
  removeBudget(tx: Tx, id: string): Promise<void>;
  listBudgets(tx: Tx): Promise<readonly BudgetView[]>;
  /** Does what the owner answered to a question about a budget. Returns false if it was about something else. */
  answerBudget(tx: Tx, questionId: string, text: string): Promise<boolean>;
  /** Starts no turn until it is resumed. Returns the run whose attempt was ended, if that was wanted. */
  pauseAgent(agentId: string, wish: PauseWish): Promise<{ agent: AgentView; interrupted: string | null }>;
  /** Lets a paused agent run again. */
  resumeAgent(agentId: string): Promise<AgentView>;
}

/** Connects messaging, runs and tools, which do not import each other. The daemon and the tests of the rules use it. */
export function createTeamwork(options: TeamworkOptions): Teamwork {
  const { store, clock, config, home, providers, extensions, boot, incarnation, tracer, log } = options;
  const { nodeId } = home;
  const { maxAttempts, maxDeaths, turnTimeoutMs, leaseMs, requestDeadlineMs, questionDeadlineMs } = config.daemon;
  const { maxChainDepth, maxTreeRuns, toolCallsPerMinute } = config.limits;
  const people = peopleRules(config);
  const pushes = targetsOf(config.notify).length > 0;
  const rules = { requestDeadlineMs, questionDeadlineMs, pushes, maxChainDepth, maxTreeRuns, people };
  const live = createLive();
  const enforcement: Enforcement = { policies: config.policies, provider: (name) => providers.get(name) };
  const seats = seatRules(config, { isReady: options.isReady, refusals: refusalsOf(enforcement) });
  const aboutOf = (name: string) => providers.get(keyOf(name, ''))?.about;
  const budgets: BudgetRules = {
    prices: (name, model) => pricesOf(config, name, model),
    reportsCost: (name) => aboutOf(name)?.reportsCost === true,
    usesModel: (name) => name !== EXTERNAL && aboutOf(name)?.runsOwnProgram !== true,
    timeZone: people.timeZone,
  };
  const ask: AskPersona = (agent, limits) => askPersona(extensions.personas, agent, limits);
  const progress = new ProgressWatch({
    clock,
    correspondence,
    thresholds: (provider) => thresholdsOf(config, provider),
    wake: () => scheduler.poke(),
  });
  const scheduler: Scheduler = new Scheduler({
    store,
    clock,
    monotonic: options.monotonic,
    nodeId,
    incarnation,
    slots: createSlots(config.daemon.slots, providerSlots(config)),
    leaseMs,
    maxTreeRuns,
    people,
    maxAttempts,
    maxDeaths,
    boot,
    pollMs: options.pollMs,
    correspondence,
    seats,
    budgets,
    due: [
      ...dueMessages({ turnTimeoutMs }),
      dueTimers({ handlers: new Map([...timersOf(rules), ...(options.timers ?? [])]), log }),
      progress,
    ],
    onSetBack: rearmTimers,
    runTurn: async (started, signal) => {
      await runTurn(turn, started, signal);
      options.onTurnEnded(started.agent.id);
    },
    tracer,
    log,
  });
  const workspaces = workspaceRules(config, home, options.sandbox.mode, {
    git: options.git,
    isLive: (agentId) => scheduler.isLive(agentId),
  });
  const tools: ToolDependencies = {
    store,
    clock,
    log,
    limiter: createRateLimiter(toolCallsPerMinute),
    settings: {
      rules,
      limits: config.limits,
      policies: config.policies,
      nodeId,
      defaultProvider: config.daemon.defaultProvider,
      workspaces,
      knowledge: options.knowledge,
      passageMeaning: options.passageMeaning,
      customTools: () => extensions.customTools(),
      onCustomToolsChange: (listener) => extensions.onCustomToolsChange(listener),
      findPersona: (choice) => findPersona(extensions.personas, choice),
      checkEnforced: (tx, agent) => checkEnforced(enforcement, tx, agent),
      checkTools: (agent, custom) => checkTools(providers.get(agent.provider), agent, custom),
    },
    onAgentCreated: options.onAgentCreated,
    onClaimed: options.onClaimed,
    onWorkspaceChanged: (workspace) => settleWorkspace(store, workspaces, workspace),
    onTerminated: async ({ agents, fenced }) => {
      for (const runId of fenced) scheduler.abort(runId);
      await options.onTerminated(agents);
    },
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
    provider: (name, account) => providers.get(keyOf(name, account)) ?? null,
    seats,
    guard: (attempt, agent, { unjudged = [] }) => guardOf(tools, attempt, agent, { name: agent.provider, unjudged }),
    live,
    prices: budgets.prices,
    stopAfterMs: options.stopAfterMs ?? STOP_AFTER_MS,
    openDoor: options.openDoor,
    saveSession: options.saveSession,
    saveWork: options.saveWork,
    watch: options.watch,
    askPersona: ask,
    maxAttempts,
    turnTimeoutMs,
    progress,
    echoes: new EchoWatch({ store, clock, correspondence }),
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
    restartRun: async (runId) => {
      const agent = await store.write(async (tx) => {
        const run = await runningRun(tx, runId);
        const agent = (await tx.agents.getAgent({ id: run.agentId })) as Agent;
        await interruptRun(tx, correspondence, agent, run, 'A person restarted the turn.', clock());
        return agent;
      });
      scheduler.abort(runId);
      return agent;
    },
    extendRun: async (runId, until) => {
      await store.write(async (tx) => extendRun(tx, await runningRun(tx, runId), until, clock()));
      scheduler.poke();
    },
    terminateAgent: async (agentId, reason) => {
      const { fenced, ended } = await store.write(async (tx) => {
        const agent = await tx.agents.getAgent({ id: agentId });
        if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
        if (agent.terminatedAt !== null) throw new SubstratError('conflict', `${agent.handle} is terminated already.`);
        const ended = await tx.agents.listSubtree({ id: agentId });
        const { fenced } = await terminateAgent(tx, agent, reason, clock());
        return { ended, fenced };
      });
      for (const runId of fenced) scheduler.abort(runId);
      return ended;
    },
    setBudget: async (tx, wish) => {
      await checkBudget(tx, { config, about: aboutOf, isPriced: (agent) => isPriced(budgets, agent) }, wish);
      return setBudget(tx, correspondence, budgets, wish, clock());
    },
    moveDays: (tx) => moveDays(tx, correspondence, budgets, clock()),
    listBudgets: (tx) => listBudgets(tx, clock()),
    removeBudget: (tx, id) => removeBudget(tx, correspondence, id, clock()),
    answerBudget: async (tx, questionId, text) => {
      const budget = await tx.budgets.getAskedBudget({ questionId });
      if (!budget) return false;
      const setModel = async (_: unknown, agentId: string, model: string) => {
        const change = async () => ({ model });
        await changeInStore(tx, agentId, { change, expected: null, by: USER_ID, interrupt: false }, clock());
      };
      await applyAnswer(tx, correspondence, budget, readBudgetAnswer(text), setModel, clock());
      return true;
    },
    changeSettings: async (agentId, wish) => {
      const done = await store.write((tx) => changeInStore(tx, agentId, wish, clock()));
      if (done.interrupted !== null) scheduler.abort(done.interrupted);
      return done;
    },
    pauseAgent: async (agentId, { reason, now: atOnce }) => {
      const done = await store.write(async (tx) => {
        const agent = await tx.agents.getAgent({ id: agentId });
        if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
        if (agent.terminatedAt !== null) throw new SubstratError('terminated', `${agent.handle} is terminated.`);
        if (agent.pausedAt !== null) throw new SubstratError('conflict', `${agent.handle} is paused already.`);
        await pauseAgent(tx, correspondence, agent, reason, clock());
        const run = atOnce ? await tx.runs.getLiveRun({ agentId }) : null;
        const ends = run?.state === 'running';
        if (ends) await interruptRun(tx, correspondence, agent, run, 'A person paused the agent.', clock());
        const view = (await tx.agents.getAgentView({ id: agentId })) as AgentView;
        return { agent: view, interrupted: ends ? run.id : null };
      });
      if (done.interrupted !== null) scheduler.abort(done.interrupted);
      return done;
    },
    resumeAgent: (agentId) =>
      store.write(async (tx) => {
        const agent = await tx.agents.getAgent({ id: agentId });
        if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
        if (agent.pausedAt === null && agent.gatedAt === null) {
          throw new SubstratError('conflict', `${agent.handle} is neither paused nor gated.`);
        }
        if (agent.gatedAt !== null) await openGate(tx, agent, USER_ID, clock());
        if (agent.pausedAt !== null) await resumeAgent(tx, correspondence, agent, { turnTimeoutMs }, clock());
        return (await tx.agents.getAgentView({ id: agentId })) as AgentView;
      }),
  };
}

async function runningRun(tx: Tx, runId: string): Promise<Run> {
  const run = await tx.runs.getRun({ id: runId });
  if (!run) throw new SubstratError('not_found', `There is no run ${runId}.`);
  if (run.state !== 'running') throw new SubstratError('conflict', `The run ${runId} is not running.`);
  return run;
}
