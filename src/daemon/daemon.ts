import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { storeName } from '../config/store-name.ts';
import type { Agent } from '../core/agent.ts';
import type { BoundTool } from '../core/bound-tool.ts';
import { SubstratError } from '../core/errors.ts';
import type { PersonaPrompt } from '../core/persona.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Tracer } from '../core/tracing.ts';
import { keepOwnFilesPrivate } from '../core/umask.ts';
import type { Workspace } from '../core/workspace.ts';
import type { Extensions } from '../extensions/extensions.ts';
import type { AgentWish, KnowledgeDoor, ShownNode, WriteOnce } from '../http/api.ts';
import type { ApiServer } from '../http/serve.ts';
import { dueMessages } from '../messaging/due.ts';
import type { MessagingRules } from '../messaging/send.ts';
import { terminateAgent } from '../messaging/tree.ts';
import { endProcessGroup } from '../providers/process.ts';
import type { Provider } from '../providers/provider.ts';
import { clearSuspects } from '../runs/deaths.ts';
import { dueTimers } from '../runs/due-timers.ts';
import { cancelRun } from '../runs/endings.ts';
import { ExternalRuns } from '../runs/external.ts';
import { resumeAgent } from '../runs/pause.ts';
import { recoverRuns } from '../runs/recovery.ts';
import { type AskPersona, runTurn } from '../runs/run-turn.ts';
import { Scheduler } from '../runs/scheduler.ts';
import { createSlots } from '../runs/slots.ts';
import { untilStored } from '../runs/until-stored.ts';
import { createBwrap } from '../sandbox/bwrap.ts';
import { exceptFor } from '../sandbox/except.ts';
import { noSandbox } from '../sandbox/none.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { AgentView, Store } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import type { CustomTool } from '../tools/custom.ts';
import { createRateLimiter } from '../tools/rate.ts';
import { openTracing } from '../tracing/open.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import { settleWorkspace } from '../workspaces/remove.ts';
import { runsPerDayOf } from './allowances.ts';
import { readBoot } from './boot.ts';
import { followClock } from './clock.ts';
import { type Configured, createConfigured } from './configured.ts';
import { messagesOfRuns } from './correspondence.ts';
import { AgentDoors } from './doors.ts';
import { type Home, takeHome } from './home.ts';
import { Housekeeping } from './housekeeping.ts';
import { knowledgeDoor, openKnowledge } from './knowledge.ts';
import type { Log } from './log.ts';
import { adoptNode, leaveNode, listNodes, nodeNotices, seeNode } from './nodes.ts';
import { askPersona, findPersona } from './personas.ts';
import { checkTools, createProviders, pricesOf, providerSlots } from './providers.ts';
import { openStoreOf, type StoreStart } from './store-start.ts';
import { timers } from './timers.ts';
import { sweepWorkspaces, tidyWorktree, workspaceRules } from './workspaces.ts';

export interface DaemonOptions extends StoreStart {
  readonly home: string;
  readonly clock?: () => number;
  /** A program of ours that may run where no sandbox can be made. */
  readonly ownProgram?: string;
}

const HEAD_START_MS = 25;
const UNHURRIED_MS = 1_000;

/** One node: everything that runs, wired together. The rooms know nothing of each other beyond what is handed to them here. */
export class Daemon {
  readonly home: Home;
  readonly store: Store;
  readonly config: Config;
  readonly version: string;
  readonly clock: () => number;
  readonly tools: ToolDependencies;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly knowledgeDoor: KnowledgeDoor;
  readonly #scheduler: Scheduler;
  readonly #doors: AgentDoors;
  readonly #sandbox: Sandbox;
  readonly #boot = readBoot();
  #begun = false;
  readonly #stopping = new AbortController();
  readonly #tidying = new Set<Promise<void>>();
  readonly #correspondence = messagesOfRuns;
  readonly log: Log;
  readonly #tracing: Tracing | null;
  /** Number of the last event before this start. */
  startedAfter = 0;
  #api: ApiServer | null = null;
  #url: string | null = null;
  #configured: Configured | null = null;
  #extensions: Promise<Extensions> | null = null;
  readonly #toolListeners = new Set<() => void>();
  readonly #housekeeping = new Housekeeping(this);
  /** What the owner should know of this start. */
  #notices: readonly string[] = [];
  #opening: NodeJS.Timeout | null = null;

  /** Takes the home, opens the store, ends and takes up what a dead daemon left, and starts to work. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    keepOwnFilesPrivate();
    const home = takeHome(options.home);
    const notices: string[] = [];
    const store = await openStoreOf(home, options, (notice) => {
      notices.push(notice);
      options.log.warn({}, notice);
    }).catch((error) => {
      home.release();
      throw error;
    });
    const { version, log } = options;
    const tracing = await openTracing(process.env, { version, nodeId: home.nodeId, log });
    const daemon = new Daemon(options, home, store, tracing);
    daemon.#notices = notices;
    try {
      await daemon.#begin();
      return daemon;
    } catch (error) {
      await daemon.stop();
      throw error;
    }
  }

  private constructor(options: DaemonOptions, home: Home, store: Store, tracing: Tracing | null) {
    const { config, version } = options;
    const log = tracing?.watch(options.log) ?? options.log;
    const tracer = tracing?.tracer ?? null;
    const clock = options.clock ?? Date.now;
    const { nodeId } = home;
    this.home = home;
    this.store = store;
    this.config = config;
    this.version = version;
    this.clock = clock;
    this.log = log;
    this.#tracing = tracing;
    const sandbox = openSandbox(options, home);
    this.providers = createProviders(config, process.env);
    const personas = async () => (await this.extensions()).personas;
    const ask: AskPersona = (agent, limits) => askPersona(personas, agent, limits);
    const knowledge = openKnowledge({ config, home: home.path, store, log });
    this.knowledgeDoor = knowledgeDoor(knowledge, () => this.extensions(), { version, log });
    this.tools = {
      store,
      clock,
      log,
      limiter: createRateLimiter(config.limits.toolCallsPerMinute),
      settings: {
        rules: {
          requestDeadlineMs: config.daemon.requestDeadlineMs,
          maxChainDepth: config.limits.maxChainDepth,
          runsPerDay: runsPerDayOf(config),
        },
        limits: config.limits,
        nodeId,
        defaultProvider: config.daemon.defaultProvider,
        workspaces: workspaceRules(config, home, sandbox.mode, (agentId) => this.#scheduler.isLive(agentId)),
        knowledge,
        customTools: () => this.#customTools(),
        onCustomToolsChange: (listener) => {
          this.#toolListeners.add(listener);
          return () => this.#toolListeners.delete(listener);
        },
        findPersona: (choice) => findPersona(personas, choice),
        checkTools: (agent, custom) => checkTools(this.providers.get(agent.provider), agent, custom),
      },
      onAgentCreated: (agent) => this.#doors.prepare(agent),
      onWorkspaceChanged: (workspace) => this.settleWorkspace(workspace),
    };
    this.#sandbox = sandbox;
    const correspondence = this.#correspondence;
    const { maxAttempts, maxDeaths, turnTimeoutMs, leaseMs, slots } = config.daemon;
    const external = new ExternalRuns({
      store,
      clock,
      nodeId,
      correspondence,
      askPersona: ask,
      turnTimeoutMs,
      tracer,
      log,
    });
    const onEnded = (agentId: string) => this.#tidy(agentId);
    const { stored } = this;
    this.#doors = new AgentDoors({ home, tools: this.tools, version, external, sandbox, log, stored, onEnded });
    const turn = {
      store,
      clock,
      correspondence,
      provider: (name: string) => this.providers.get(name) ?? null,
      prices: (name: string, model: string | null) => pricesOf(config, name, model),
      openDoor: this.#doors.open,
      askPersona: ask,
      maxAttempts,
      turnTimeoutMs,
      log,
    };
    this.#scheduler = new Scheduler({
      store,
      clock,
      // A clock that a test drives passes like time.
      monotonic: options.clock ?? (() => performance.now()),
      nodeId,
      slots: createSlots(slots, providerSlots(config)),
      leaseMs,
      maxTreeRuns: config.limits.maxTreeRuns,
      runsPerDay: runsPerDayOf(config),
      maxAttempts,
      maxDeaths,
      boot: this.#boot,
      pollMs: store.engine === 'postgres' ? 2000 : null,
      correspondence,
      due: [...dueMessages({ turnTimeoutMs }), dueTimers({ handlers: timers, log })],
      runTurn: async (started, signal) => {
        await runTurn(turn, started, signal);
        // With its run the agent may have ended.
        this.#tidy(started.agent.id);
      },
      tracer,
      log,
    });
  }

  get tracer(): Tracer | null {
    return this.#tracing?.tracer ?? null;
  }

  get workspaces(): WorkspaceRules {
    return this.tools.settings.workspaces;
  }

  get rules(): MessagingRules {
    return this.tools.settings.rules;
  }

  async status() {
    return {
      pid: process.pid,
      home: this.home.path,
      config: this.config.file,
      store: storeName(this.config.db),
      version: this.version,
      url: this.#url,
      sandbox: this.#sandbox.mode,
      sandboxProblem: await this.#sandbox.problem(),
      commits: this.store.commits(),
      notices: [this.store.problem() ?? [], this.#notices, await nodeNotices(this).catch(() => [])].flat(2),
    };
  }

  /** Opened when somebody first asks: a start does not wait for them. */
  extensions(): Promise<Extensions> {
    this.#extensions ??= this.#openExtensions();
    return this.#extensions;
  }

  async #openExtensions(): Promise<Extensions> {
    const { openDaemonExtensions } = await import('./extensions.ts');
    const extensions = await openDaemonExtensions(this);
    const tell = () => {
      for (const listener of this.#toolListeners) listener();
    };
    extensions.tools.onChange(tell);
    // They came to be in the file between our start and now, and whoever asked before was told of none.
    if (this.config.tools.length === 0 && extensions.tools.list().length > 0) tell();
    return extensions;
  }

  /** Where the configuration has none, nobody waits for what follows its file. */
  async #customTools(): Promise<readonly CustomTool[]> {
    if (this.#extensions === null && this.config.tools.length === 0) return [];
    return (await this.extensions()).tools.list();
  }

  async askPersona(agent: Agent): Promise<PersonaPrompt | null> {
    return askPersona(async () => (await this.extensions()).personas, agent);
  }

  async addAgent(wish: AgentWish, write: WriteOnce = this.#write): Promise<AgentView> {
    // With it come all the tools, and a daemon that starts has its agents as a rule.
    const { addAgent } = await import('./agents.ts');
    return addAgent(this, wish, write);
  }

  /** The tools in the scope of an agent, bound to it: to be called in this process, or handed to an MCP library. */
  async getTools(agentId: string): Promise<BoundTool[]> {
    const agent = await this.store.read((tx) => tx.agents.getAgent({ id: agentId }));
    if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
    const scope = await this.store.read((tx) => tx.agents.getScope({ id: agentId }));
    const { bindTools } = await import('../mcp/bound.ts');
    return bindTools(this.tools, { ...agent, tools: scope }, () => this.#doors.attemptOf(agent));
  }

  /** Resolves when everything that is due has started; for tests that drive the time. */
  tick(): Promise<void> {
    return this.#scheduler.tick();
  }

  prepareAgent(agent: Agent): Promise<void> {
    return this.#doors.prepare(agent);
  }

  /** Makes or removes its directory, as the store has it. */
  settleWorkspace(workspace: Workspace): Promise<void> {
    return settleWorkspace(this.store, workspace);
  }

  async cancelRun(runId: string, reason: string): Promise<void> {
    const agent = await this.store.write(async (tx) => {
      await cancelRun(tx, this.#correspondence, runId, reason, this.clock());
      return tx.agents.getAgent({ id: (await tx.runs.getRun({ id: runId }))?.agentId ?? '' });
    });
    this.#scheduler.abort(runId);
    if (agent) this.#tidy(agent.id);
    // Whoever is connected is in the run that was cancelled; the next one to join opens another.
    if (agent?.provider === EXTERNAL) {
      await this.#doors.closeExternal(agent.id);
      await this.#doors.openExternal([agent]);
    }
  }

  async terminateAgent(agentId: string, reason: string): Promise<void> {
    const { fenced, ended } = await this.store.write(async (tx) => {
      const agent = await tx.agents.getAgent({ id: agentId });
      if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
      if (agent.terminatedAt !== null) throw new SubstratError('conflict', `${agent.handle} is terminated already.`);
      const ended = await tx.agents.listSubtree({ id: agentId });
      return { ended, fenced: await terminateAgent(tx, agent, reason, this.clock()) };
    });
    for (const runId of fenced) this.#scheduler.abort(runId);
    for (const agent of ended) {
      await this.#doors.closeExternal(agent.id);
      this.#tidy(agent.id);
    }
  }

  /** A person has looked at why it was paused. */
  async resumeAgent(agentId: string): Promise<AgentView> {
    const { turnTimeoutMs } = this.config.daemon;
    return this.store.write(async (tx) => {
      const agent = await tx.agents.getAgent({ id: agentId });
      if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
      if (agent.pausedAt === null) throw new SubstratError('conflict', `${agent.handle} is not paused.`);
      await resumeAgent(tx, this.#correspondence, agent, { turnTimeoutMs }, this.clock());
      return (await tx.agents.getAgentView({ id: agentId })) as AgentView;
    });
  }

  /** Tells of the error that ends the process, which stands still until that is done. */
  tellLast(details: object, message: string): void {
    this.#tracing?.tellLast(details, message);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#housekeeping.stop();
    if (this.#opening) clearTimeout(this.#opening);
    await this.#configured?.close();
    await this.#api?.close();
    await this.knowledgeDoor.close();
    await this.#scheduler.stop();
    await this.#doors.closeAll();
    if (this.#begun) await this.#clearSuspects();
    // Last, or what a turn waits for would fail, and that would be counted against it.
    await (await this.#extensions?.catch(() => null))?.close();
    await Promise.all(this.#tidying);
    // Harmless if it fails: without a heartbeat the node counts as gone a few minutes later.
    await leaveNode(this).catch(() => {});
    await this.store.close();
    this.home.release();
    // The home is free: the next daemon does not wait for a collector.
    await this.#tracing?.close();
  }

  #recover(nodeId: string): Promise<readonly string[]> {
    const { store, clock, config, home } = this;
    const { maxAttempts, maxDeaths } = config.daemon;
    const own = nodeId === home.nodeId;
    return recoverRuns({
      store,
      clock,
      nodeId,
      maxAttempts,
      deaths: { maxDeaths, boot: own ? this.#boot : null },
      died: !own || home.died,
      correspondence: this.#correspondence,
      endProcessGroup,
    });
  }

  listNodes(): Promise<readonly ShownNode[]> {
    return listNodes(this);
  }

  adoptNode(wish: { readonly id: string; readonly force: boolean }) {
    return adoptNode(this, wish, {
      recover: (nodeId) => this.#recover(nodeId),
      open: async (agents) => {
        for (const agent of agents) await this.#doors.prepare(agent);
        await this.#doors.openExternal(agents.filter(({ provider }) => provider === EXTERNAL));
        await this.#scheduler.tick();
      },
    });
  }

  async #begin(): Promise<void> {
    const { store, home, config } = this;
    this.startedAfter = await store.read((tx) => tx.events.getEventCounter());
    await followClock(this);
    const recovered = await this.#recover(home.nodeId);
    await seeNode(this);
    await sweepWorkspaces(this);
    for (const agentId of recovered) this.#tidy(agentId);
    const { tools, clock, log, stored } = this;
    const addAgent = (wish: AgentWish, write: WriteOnce) => this.addAgent(wish, write);
    const personas = async () => (await this.extensions()).personas;
    this.#configured = await createConfigured({ store, config, clock, log, tools, stored, addAgent, personas });
    this.#scheduler.start();
    await this.#scheduler.tick();
    // What was under way when the last daemon died goes on first: loading the door would hold its programs' start up.
    if (this.#scheduler.liveRuns().length > 0) await sleep(HEAD_START_MS);
    await this.#doors.openExternal(await store.read((tx) => tx.agents.listExternalAgents({ nodeId: home.nodeId })));
    await this.#doors.sweep();
    // Loaded after the agents' work has begun: it does not wait for the door.
    const { serveApi } = await import('../http/serve.ts');
    const onAddress = (url: string) => {
      this.#url = url;
    };
    this.#api = await serveApi(this, {
      socketPath: home.socket,
      bind: config.server.bind,
      token: home.token,
      onAddress,
    });
    if (config.file !== null) {
      // Where there are none, some may come to be in the file, which is then followed; that is in no hurry.
      const wait = config.agents.length + config.tools.length > 0 ? 0 : UNHURRIED_MS;
      this.#opening = setTimeout(() => {
        this.extensions().catch((error) => this.log.error({ error: error.message }, 'personas are not available'));
      }, wait);
    }
    this.#housekeeping.start();
    for (const notice of await nodeNotices(this)) this.log.warn({}, notice);
    this.#begun = true;
    this.log.info({ home: home.path, engine: store.engine, url: this.#url }, 'the daemon is running');
  }

  async #clearSuspects(): Promise<void> {
    await this.stored(() => clearSuspects(this.store, this.home.nodeId)).catch((error) => {
      this.log.warn({ error: error.message }, 'runs in progress when the daemon died stay suspects');
    });
  }

  /** Repeats what nobody waits for until it is stored; after a stop for a few seconds only. */
  readonly stored = <T>(work: () => Promise<T>): Promise<T> =>
    untilStored(work, {
      signal: this.#stopping.signal,
      onFailure: ({ message }) => this.log.warn({ error: message }, 'a write failed and is retried'),
    });

  /** Removes the worktree of an agent that may have ended, when its last turn is over. */
  #tidy(agentId: string): void {
    const work = this.#scheduler
      .settled(agentId)
      .then(() => tidyWorktree(this, agentId))
      .catch((error) => this.log.error({ error: error.message }, 'a worktree could not be tidied'))
      .finally(() => this.#tidying.delete(work));
    this.#tidying.add(work);
  }

  readonly #write: WriteOnce = async (effect) => ({ value: await this.store.write(effect), fresh: true });

  /** Removes what is older than the configuration keeps. */
  forget(): Promise<void> {
    return this.#housekeeping.forget();
  }
}

function openSandbox({ config, ownProgram }: DaemonOptions, home: Home): Sandbox {
  if (config.sandbox.mode === 'none') return noSandbox;
  const bwrap = createBwrap({ home: home.path, path: process.env.PATH ?? '' });
  return ownProgram === undefined ? bwrap : exceptFor(ownProgram, bwrap);
}
