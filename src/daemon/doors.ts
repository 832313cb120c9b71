import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Agent } from '../core/agent.ts';
import type { BoundTool } from '../core/bound-tool.ts';
import { SubstratError } from '../core/errors.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import { readRegularText } from '../core/regular-file.ts';
import { under } from '../core/tracing.ts';
import { createHttpBridge } from '../mcp/http-bridge.ts';
import { type AgentSocket, type AgentSocketOptions, listenForAgent } from '../mcp/socket.ts';
import { endRun, Unrelated } from '../providers/process.ts';
import type { Spawner } from '../providers/spawner.ts';
import { type ActiveAttempt, scopeNow } from '../runs/attempt.ts';
import type { ExternalRuns } from '../runs/external.ts';
import type { Door } from '../runs/run-turn.ts';
import { instructionsOf } from '../runs/start.ts';
import type { Confined, Enclosure, Sandbox } from '../sandbox/sandbox.ts';
import type { Watch } from '../sandbox/watch.ts';
import type { ToolDependencies } from '../tools/call.ts';
import { type Reach, reachOf } from '../workspaces/reach.ts';
import { placeAttachments } from './attachments.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';
import type { Stored } from './node.ts';
import { BRIDGE, LIBRARY, PACKAGE } from './own-files.ts';
import type { Work } from './work.ts';

export interface DoorOptions {
  readonly home: Home;
  readonly tools: ToolDependencies;
  readonly version: string;
  readonly external: ExternalRuns;
  readonly sandbox: Sandbox;
  readonly spawner: Spawner;
  readonly watch: Watch;
  readonly work: Pick<Work, 'prepare'>;
  readonly log: Log;
  readonly stored: Stored;
  /** Called when an external agent has completed its work and left. */
  readonly onEnded: (agentId: string) => void;
}

/** The agents' sockets. A socket is open during a run; an external agent's socket, as long as clients may join. */
export class AgentDoors {
  readonly #options: DoorOptions;
  readonly #external = new Map<string, AgentSocket>();
  /** Turns in progress, by agent. */
  readonly #attempts = new Map<string, ActiveAttempt>();
  /** External agents that run in this process. */
  readonly #joined = new Map<string, Promise<ActiveAttempt>>();
  readonly #leaving = new Set<Promise<void>>();
  /** Agents whose socket this daemon has opened. */
  readonly #open = new Set<string>();
  readonly #unrelated = new Unrelated();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Writes the agent's directory. For an external agent, opens its socket. */
  async prepare(agent: Agent): Promise<void> {
    await this.#writeConfig(agent);
    if (agent.provider === EXTERNAL) await this.openExternal([agent]);
  }

  readonly open = async (attempt: ActiveAttempt, agent: Agent): Promise<Door> => {
    const { tools, home, sandbox, spawner, watch, work } = this.#options;
    await work.prepare(agent);
    const reach = await tools.store.read((tx) => reachOf(tx, tools.settings.workspaces, agent));
    await this.#writeConfig(agent);
    await placeAttachments(tools.store, attempt.runId, reach.source);
    await sandbox.tidy(home.agentDirectory(agent.id));
    const socket = await this.#listen(agent, { join: async () => attempt, leave: async () => {} });
    const confined: Confined[] = [];
    const seat = { path: home.agentSocket(agent.id), agentId: agent.id, runId: attempt.runId };
    const enclosure = { ...this.#enclosure(agent, reach), serveTools: createHttpBridge(seat) };
    const linked = reach.binds.filter(({ mode }) => mode === 'rw').map(({ source }) => source);
    const watched = watch.open([reach.source, enclosure.home, ...linked]);
    this.#attempts.set(agent.id, attempt);
    const scope = () => tools.store.read((tx) => scopeNow(tx, attempt));
    return {
      // Imported on first use: the first turn of a daemon does not wait until every tool is loaded.
      tools: async () => {
        const { bindTools } = await import('../mcp/bound.ts');
        return bindTools(tools, { ...agent, tools: await scope() }, async () => attempt);
      },
      launch: {
        spawner,
        mcpConfig: home.mcpConfig(agent.id),
        countTools: async () => {
          const { countTools } = await import('../tools/catalog.ts');
          return countTools(await scope(), await tools.settings.customTools());
        },
        home: home.agentHome(agent.id),
        confine: async (command, needs = {}) => {
          const wrapped = await sandbox.confine(command, needs, enclosure);
          confined.push(wrapped);
          watched.add(wrapped);
          return wrapped.command;
        },
      },
      exceeded: watched.exceeded,
      activity: () => ({
        cpuMs: sandbox.mode === 'none' ? null : watched.usage().cpuMs,
        bytes: sandbox.mode === 'none' ? null : confined.reduce((sum, one) => sum + one.traffic(), 0),
      }),
      close: async () => {
        this.#attempts.delete(agent.id);
        watched.close();
        await Promise.all([socket.close(), ...confined.map((wrapped) => wrapped.release())]);
        // A sandbox kills everything in it. Without one, a process may have left the process group.
        if (sandbox.mode === 'none') await endRun(attempt.runId, this.#unrelated);
      },
    };
  };

  async openExternal(agents: readonly Agent[]): Promise<void> {
    const { external } = this.#options;
    for (const agent of agents) {
      if (this.#external.has(agent.id)) continue;
      await this.#writeConfig(agent);
      const seat = {
        join: () => external.join(agent.id),
        leave: () => this.#left(agent.id),
        instructions: (attempt: ActiveAttempt) =>
          this.#options.tools.store.read(async (tx) =>
            // Its settings may have changed since the socket was opened.
            instructionsOf(tx, (await tx.agents.getAgent({ id: agent.id })) ?? agent, attempt),
          ),
      };
      // A client that joins later does not belong to the trace of the request that created the agent.
      this.#external.set(agent.id, await under(undefined, () => this.#listen(agent, seat)));
    }
  }

  /** The tools in an agent's scope, bound to it, for callers in this process. */
  async getTools(agentId: string): Promise<BoundTool[]> {
    const { tools } = this.#options;
    const agent = await tools.store.read((tx) => tx.agents.getAgent({ id: agentId }));
    if (!agent) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
    const scope = await tools.store.read((tx) => tx.agents.getScope({ id: agentId }));
    const { bindTools } = await import('../mcp/bound.ts');
    return bindTools(tools, { ...agent, tools: scope }, () => this.#attemptOf(agent));
  }

  /** Joins an external agent until the daemon stops; other agents must be in a turn. */
  #attemptOf(agent: Agent): Promise<ActiveAttempt> {
    const attempt = this.#attempts.get(agent.id);
    if (attempt) return Promise.resolve(attempt);
    if (agent.provider !== EXTERNAL) {
      const message = `${agent.handle} is not in a turn. Outside of turns, only external agents can call tools.`;
      return Promise.reject(new SubstratError('not_running', message));
    }
    const joined = this.#joined.get(agent.id) ?? this.#options.external.join(agent.id);
    this.#joined.set(agent.id, joined);
    joined.catch(() => this.#joined.delete(agent.id));
    return joined;
  }

  /** Removes the sockets of a crashed daemon. Check and removal are synchronous, so a new socket is never removed. */
  async sweep(): Promise<void> {
    const { home, sandbox } = this.#options;
    for (const agentId of await readdir(home.agents)) {
      if (this.#open.has(agentId)) continue;
      rmSync(home.agentSocket(agentId), { force: true });
      await sandbox.tidy(home.agentDirectory(agentId));
    }
  }

  /** Returns whether it was open. */
  async closeExternal(agentId: string): Promise<boolean> {
    await this.#external.get(agentId)?.close();
    return this.#external.delete(agentId);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#external.keys()].map((agentId) => this.closeExternal(agentId)));
    for (const agentId of this.#joined.keys()) await this.#options.external.leave(agentId);
    await this.#options.external.settled();
    await Promise.all(this.#leaving);
  }

  #left(agentId: string): Promise<void> {
    const left = this.#leave(agentId).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
    return left;
  }

  async #leave(agentId: string): Promise<void> {
    const { external, log, tools, stored, onEnded } = this.#options;
    try {
      await external.leave(agentId);
      const agent = await stored(() => tools.store.read((tx) => tx.agents.getAgent({ id: agentId })));
      // An agent that completed its work is terminated with its run.
      if (!agent?.terminatedAt) return;
      await this.closeExternal(agentId);
      onEnded(agentId);
    } catch (error) {
      log.error({ agentId, error: (error as Error).message }, 'leaving failed');
    }
  }

  async #listen(agent: Agent, seat: Pick<AgentSocketOptions, 'join' | 'leave' | 'instructions'>): Promise<AgentSocket> {
    const { home, tools, version } = this.#options;
    const path = home.agentSocket(agent.id);
    this.#open.add(agent.id);
    const socket = await listenForAgent({ path, agent, tools, version, ...seat });
    return {
      close: async () => {
        await socket.close();
        rmSync(path, { force: true });
        this.#open.delete(agent.id);
      },
    };
  }

  #enclosure(agent: Agent, reach: Reach): Enclosure {
    const { home } = this.#options;
    const same = (path: string, mode: 'ro' | 'rw') => ({ source: path, target: path, mode });
    return {
      workspace: agent.workspace,
      source: reach.source,
      home: home.agentHome(agent.id),
      directory: home.agentDirectory(agent.id),
      binds: [
        same(home.agentSocket(agent.id), 'rw'),
        same(home.mcpConfig(agent.id), 'ro'),
        same(process.execPath, 'ro'),
        same(BRIDGE, 'ro'),
        same(LIBRARY, 'ro'),
        same(PACKAGE, 'ro'),
        ...reach.binds,
      ],
      hosts: reach.hosts,
    };
  }

  /** Writes the mcp.json through which providers find the agent's tools. */
  async #writeConfig(agent: Agent): Promise<void> {
    const { home } = this.#options;
    // Synchronous: for small local files the thread pool takes longer than the work, and every turn waits for it.
    mkdirSync(home.agentHome(agent.id), { recursive: true, mode: 0o700 });
    const config = {
      mcpServers: {
        substrat: {
          command: process.execPath,
          args: [BRIDGE, '--agent-id', agent.id],
          env: { SUBSTRAT_SOCKET: home.agentSocket(agent.id) },
        },
      },
    };
    const [path, text] = [home.mcpConfig(agent.id), `${JSON.stringify(config, null, 2)}\n`];
    if (isSame(path, text)) return;
    // Without a sandbox, an agent can replace it with something that blocks or leads elsewhere.
    rmSync(path, { force: true, recursive: true });
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  }
}

/** Reading a file takes a fraction of the time to truncate and write it. */
function isSame(path: string, text: string): boolean {
  try {
    return readRegularText(path, { maxBytes: text.length * 2, links: 'refuse' }) === text;
  } catch {
    return false;
  }
}
