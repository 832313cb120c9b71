import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withSecrets } from '../config/secrets.ts';
import { newId } from '../core/id.ts';
import { keepOwnFilesPrivate } from '../core/umask.ts';
import type { Api } from '../http/api.ts';
import type { ApiServer } from '../http/serve.ts';
import { applySchedules } from '../messaging/schedules.ts';
import type { Provider } from '../providers/provider.ts';
import { Spawner } from '../providers/spawner.ts';
import { Warden } from '../providers/warden.ts';
import { clearSuspects } from '../runs/deaths.ts';
import { untilStored } from '../runs/until-stored.ts';
import { createBwrap } from '../sandbox/bwrap.ts';
import { exceptFor } from '../sandbox/except.ts';
import { noSandbox } from '../sandbox/none.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { createWatch } from '../sandbox/watch.ts';
import type { Store } from '../store/store.ts';
import { openTracing } from '../tracing/open.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { createAgentGit } from '../workspaces/agent-git.ts';
import { clearLeftBehind } from '../workspaces/left-behind.ts';
import { createApi } from './api.ts';
import { readBoot } from './boot.ts';
import { followClock } from './clock.ts';
import { type ConfiguredTeam, openConfigured } from './configured.ts';
import { AgentDoors } from './doors.ts';
import { drainStep } from './drain.ts';
import { EvidenceChecks } from './evidence.ts';
import { type Home, takeHome } from './home.ts';
import { Housekeeping } from './housekeeping.ts';
import { knowledgeDoor, openKnowledge } from './knowledge.ts';
import { LazyExtensions } from './lazy-extensions.ts';
import { clearLeftovers } from './leftovers.ts';
import { type Elsewhere, followElsewhere } from './live-elsewhere.ts';
import type { Log } from './log.ts';
import { lookAgain } from './look.ts';
import { MemoryUpkeep } from './memory-upkeep.ts';
import type { Node, Stored } from './node.ts';
import { NodeDesk } from './node-desk.ts';
import { nodeNotices } from './nodes.ts';
import { leaveNode, patienceMs, registerNode } from './presence.ts';
import { createProviders } from './providers.ts';
import { Pusher } from './pusher.ts';
import { readySeats } from './seats.ts';
import { SharedTime } from './shared-time.ts';
import { saveSession } from './snapshots.ts';
import { openStoreOf, type StoreStart } from './store-start.ts';
import { takeoverStep } from './takeover.ts';
import { createTeamwork, type Teamwork } from './teamwork.ts';
import { Tidying } from './tidying.ts';
import { createWork } from './work.ts';
import { sweepWorkspaces } from './workspaces.ts';

export interface DaemonOptions extends StoreStart {
  readonly home: string;
  readonly clock?: () => number;
  /** Substrat's own demo program. It may run without a sandbox if none can be created. */
  readonly ownProgram?: string;
  /** Instead of `[server] bind`. */
  readonly bind?: { readonly host: string; readonly port: number };
}

const HEAD_START_MS = 25;
const UNHURRIED_MS = 1_000;

/** One node: starts and stops everything. */
export class Daemon {
  readonly home: Home;
  readonly store: Store;
  readonly log: Log;
  /** The operations behind the HTTP API. */
  readonly api: Api;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly extensions: LazyExtensions;
  readonly doors: AgentDoors;
  readonly tracing: Tracing | null;
  /** Number of the last event before this start. */
  startedAfter = 0;
  readonly #node: Node;
  readonly #warden: Warden | null;
  readonly #spawner: Spawner;
  readonly #version: string;
  readonly #bind: DaemonOptions['bind'];
  readonly #teamwork: Teamwork;
  readonly #tidying: Tidying;
  readonly #evidence: EvidenceChecks;
  readonly #desk: NodeDesk;
  readonly #elsewhere: Elsewhere;
  readonly #time: SharedTime | null;
  readonly #housekeeping: Housekeeping;
  readonly #pusher: Pusher;
  readonly #upkeep: MemoryUpkeep;
  readonly #stopping = new AbortController();
  #server: ApiServer | null = null;
  #url: string | null = null;
  #configured: ConfiguredTeam | null = null;
  #opening: NodeJS.Timeout | null = null;
  #begun = false;

  /** Locks the home, opens the store, recovers the runs of a crashed daemon, and starts the scheduler and the API. */
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
    const daemon = new Daemon(options, { home, store, tracing, notices });
    try {
      await daemon.#begin();
      return daemon;
    } catch (error) {
      await daemon.stop();
      throw error;
    }
  }

  private constructor(options: DaemonOptions, { home, store, tracing, notices }: Opened) {
    const { config, version } = options;
    const log = tracing?.watch(options.log) ?? options.log;
    const time = store.engine === 'postgres' && !options.clock ? new SharedTime({ store, log }) : null;
    const clock = options.clock ?? time?.now ?? Date.now;
    const tracer = tracing?.tracer ?? null;
    const node = { home, incarnation: newId(), store, config, clock, log };
    const sandbox = openSandbox(options, home);
    // Without other nodes nobody else runs its turns.
    const warden = store.engine === 'postgres' ? new Warden({ patienceMs: patienceMs(config) }) : null;
    const spawner = new Spawner({ path: join(home.path, 'spawner.sock') });
    const git = createAgentGit(sandbox);
    const work = createWork({ ...node, git, directory: (id) => join(realpathSync(home.path), 'workspaces', id) });
    const env = withSecrets(process.env, home.path);
    const providers = createProviders(config, env);
    const { knowledge, openEmbedder } = openKnowledge({ config, home: home.path, store, log });
    const upkeep = new MemoryUpkeep({ ...node, openEmbedder });
    const extensions = new LazyExtensions({ ...node, knowledge });
    const teamwork = createTeamwork({
      ...node,
      // In tests, the injected clock is the monotonic clock, too.
      monotonic: options.clock ?? (() => performance.now()),
      providers,
      isReady: readySeats(config, env),
      sandbox,
      git,
      knowledge,
      passageMeaning: upkeep.meaning,
      extensions,
      boot: readBoot(),
      pollMs: store.engine === 'postgres' ? 2000 : null,
      openDoor: (attempt, agent) => doors.open(attempt, agent),
      onAgentCreated: (agent) => doors.prepare(agent),
      onClaimed: (agentId) => evidence.begin(agentId),
      onTerminated: async (agents) => {
        for (const [nodeId, ended] of Map.groupBy(agents, (agent) => agent.nodeId)) {
          await tell(
            nodeId,
            ended.map(({ id }) => id),
          );
        }
      },
      onTurnEnded: (agentId) => tidying.begin(agentId),
      saveSession: async (agent) => {
        const about = providers.get(agent.provider)?.about;
        return about ? saveSession({ ...node, confined: sandbox.mode !== 'none' }, about, agent) : null;
      },
      saveWork: work.save,
      watch: (group) => warden?.watch(group) ?? (() => {}),
      tracer,
    });
    const { tools, external, scheduler } = teamwork;
    const { workspaces } = tools.settings;
    const stored = this.#stored;
    const watch = createWatch(config.sandbox);
    const settled = (agentId: string) => scheduler.settled(agentId);
    // With jobs of its own: a long command does not keep diffs and saved work waiting.
    const evidence = new EvidenceChecks({ ...node, stored, git: createAgentGit(sandbox), watch, workspaces, settled });
    const tidying = new Tidying({
      ...node,
      stored,
      workspaces,
      settled: (agentId) => settled(agentId).then(() => evidence.settled(agentId)),
    });
    const onEnded = (agentId: string) => tidying.begin(agentId);
    const doors = new AgentDoors({
      home,
      tools,
      version,
      external,
      sandbox,
      spawner,
      watch,
      work,
      log,
      stored,
      onEnded,
    });
    const look = async (agentIds: readonly string[]) => {
      await lookAgain({ ...node, teamwork, doors, tidying }, agentIds);
      await drain();
    };
    const desk = new NodeDesk({ ...node, look });
    const tell = (nodeId: string, agentIds: readonly string[]) =>
      nodeId === home.nodeId ? look(agentIds) : desk.tell(nodeId, agentIds);
    let isDraining = false;
    const drain = async () => {
      // A step moves agents, and this node looks after each move.
      if (isDraining) return;
      isDraining = true;
      await drainStep({ ...node, doors, tell }).finally(() => {
        isDraining = false;
      });
    };
    this.home = home;
    this.store = store;
    this.log = log;
    this.providers = providers;
    this.extensions = extensions;
    this.#elsewhere = followElsewhere(teamwork.live, node.store, home.nodeId);
    this.api = createApi({
      ...node,
      version,
      tracer,
      providers,
      sandbox,
      git,
      work,
      teamwork,
      doors,
      tidying,
      desk,
      elsewhere: this.#elsewhere,
      tell,
      extensions,
      configured: () => this.#configured,
      knowledgeDoor: knowledgeDoor(knowledge, extensions.open, { version, log, config, home: home.path }),
      passageMeaning: upkeep.meaning,
      notices,
      url: () => this.#url,
    });
    this.#node = node;
    this.#warden = warden;
    this.#spawner = spawner;
    this.#version = version;
    this.#bind = options.bind;
    this.#teamwork = teamwork;
    this.doors = doors;
    this.#tidying = tidying;
    this.#evidence = evidence;
    this.#desk = desk;
    this.#upkeep = upkeep;
    this.#time = time;
    this.#pusher = new Pusher(node);
    const isLive = (agentId: string) => scheduler.isLive(agentId);
    const takeOver = () => takeoverStep({ ...node, tell, isLive, work });
    const clear = async () => {
      await clearLeftBehind(store, workspaces, clock());
      await clearLeftovers({ ...node, isLive, wipRemote: config.node.wipRemote }, clock());
    };
    this.#housekeeping = new Housekeeping({ ...node, drain, takeOver, clear, time });
    this.tracing = tracing;
  }

  /** Resolves when everything that is due has started. For tests that drive the clock. */
  tick(): Promise<void> {
    return this.#teamwork.scheduler.tick();
  }

  /** Ids of the runs whose turns are in progress in this process. */
  liveRuns(): string[] {
    return this.#teamwork.scheduler.liveRuns();
  }

  /** Removes data that is older than the configured retention. */
  forget(): Promise<void> {
    return this.#housekeeping.forget();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#housekeeping.stop();
    await this.#pusher.stop();
    await this.#upkeep.stop();
    if (this.#opening) clearTimeout(this.#opening);
    await this.#configured?.close();
    this.#elsewhere.stop();
    await this.#desk.close();
    await this.#server?.close();
    await this.api.knowledgeDoor.close();
    await this.#teamwork.scheduler.stop();
    await this.doors.closeAll();
    this.#warden?.close();
    this.#spawner.close();
    if (this.#begun) await this.#clearSuspects();
    // After the turns have ended: a turn that waits for a script would otherwise fail and use up an attempt.
    await this.extensions.close();
    await this.#evidence.close();
    await this.#tidying.close();
    // Harmless if it fails: without heartbeats the node counts as dead after `dead_after`.
    await leaveNode(this.#node).catch(() => {});
    await this.store.close();
    this.home.release();
    // After the home is released: the next daemon does not wait for a slow collector.
    await this.tracing?.close();
  }

  async #begin(): Promise<void> {
    const { store, home, config, log } = this.#node;
    const { tools, scheduler } = this.#teamwork;
    await this.#time?.follow();
    this.startedAfter = await store.read((tx) => tx.events.getEventCounter());
    await followClock(this.#node);
    await registerNode(this.#node, this.#version);
    this.#housekeeping.startHeartbeat();
    const recovered = await this.#teamwork.recover(home.nodeId, home.died);
    await sweepWorkspaces(this.#node, tools.settings.workspaces);
    await this.#evidence.start();
    for (const agentId of recovered) this.#tidying.begin(agentId);
    const { addAgent, changeAgent } = this.api;
    const { personas } = this.extensions;
    const { setBudget } = this.#teamwork;
    const making = { ...this.#node, tools, stored: this.#stored, addAgent, changeAgent, personas, setBudget };
    this.#configured = await openConfigured(making);
    await this.#applySchedules();
    await store.write((tx) => this.#teamwork.moveDays(tx));
    scheduler.start();
    await scheduler.tick();
    // Recovered runs start first: loading the HTTP server would delay the start of their programs.
    if (scheduler.liveRuns().length > 0) await sleep(HEAD_START_MS);
    await this.doors.openExternal(await store.read((tx) => tx.agents.listExternalAgents({ nodeId: home.nodeId })));
    await this.doors.sweep();
    // Imported here so that agents start before the HTTP server loads.
    const { serveApi } = await import('../http/serve.ts');
    const onAddress = (url: string) => {
      this.#url = url;
    };
    this.#server = await serveApi(this.api, {
      socketPath: home.socket,
      bind: this.#bind ?? config.server.bind,
      publicUrl: config.server.publicUrl,
      origins: config.server.origins,
      token: home.token,
      onAddress,
    });
    this.#desk.open();
    if (config.file !== null) {
      // Without personas and tools, only watch the file for new ones; that can wait.
      const wait = config.agents.length + config.tools.length > 0 ? 0 : UNHURRIED_MS;
      this.#opening = setTimeout(() => {
        this.extensions.open().catch((error) => log.error({ error: error.message }, 'personas are not available'));
      }, wait);
    }
    this.#housekeeping.start();
    this.#pusher.start();
    this.#upkeep.start();
    for (const notice of await nodeNotices({ ...this.#node, workspaces: this.api.workspaces })) log.warn({}, notice);
    this.#begun = true;
    log.info({ home: home.path, engine: store.engine, url: this.#url }, 'the daemon is running');
  }

  async #applySchedules(): Promise<void> {
    const { store, home, config, clock } = this.#node;
    const { timeZone } = config.daemon;
    const wishes = config.schedules.map((schedule) => ({ ...schedule, timeZone }));
    const taken = await store.write((tx) => applySchedules(tx, wishes, home.nodeId, clock()));
    for (const name of taken) this.log.warn({ name }, 'there is another schedule of that name; this one is not used');
  }

  async #clearSuspects(): Promise<void> {
    await this.#stored(() => clearSuspects(this.store, this.home.nodeId)).catch((error) => {
      this.log.warn({ error: error.message }, 'runs in progress when the daemon died stay suspects');
    });
  }

  /** Retries background writes until they succeed; after `stop()`, for a few seconds only. */
  readonly #stored: Stored = (work) =>
    untilStored(work, {
      store: this.store,
      signal: this.#stopping.signal,
      onFailure: ({ message }) => this.log.warn({ error: message }, 'a write failed and is retried'),
    });
}

interface Opened {
  readonly home: Home;
  readonly store: Store;
  readonly notices: readonly string[];
  readonly tracing: Tracing | null;
}

function openSandbox({ config, ownProgram }: DaemonOptions, home: Home): Sandbox {
  if (config.sandbox.mode === 'none') return noSandbox;
  const bwrap = createBwrap({ home: home.path, path: process.env.PATH ?? '', limits: config.sandbox.limits });
  return ownProgram === undefined ? bwrap : exceptFor(ownProgram, bwrap);
}
