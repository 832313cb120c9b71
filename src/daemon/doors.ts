import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type AgentSocket, listenForAgent } from '../mcp/socket.ts';
import type { Attempt } from '../runs/attempt.ts';
import type { ExternalRuns } from '../runs/external.ts';
import type { AgentRow } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';
import { EXTERNAL } from './providers.ts';

const BRIDGE = fileURLToPath(new URL('../mcp/bridge.cjs', import.meta.url));

export interface DoorOptions {
  readonly home: Home;
  readonly tools: ToolDependencies;
  readonly version: string;
  readonly external: ExternalRuns;
  readonly log: Log;
}

/** The agents' sockets: one while a run lives; for an external agent, as long as it may be joined. */
export class AgentDoors {
  readonly #options: DoorOptions;
  readonly #external = new Map<string, AgentSocket>();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Writes the agent's directory; lets an external one be joined. */
  async prepare(agent: AgentRow): Promise<void> {
    await this.#writeConfig(agent);
    if (agent.provider === EXTERNAL) await this.openExternal([agent]);
  }

  readonly open = async (attempt: Attempt): Promise<{ mcpConfig: string; close(): Promise<void> }> => {
    const { tools, home } = this.#options;
    const agent = (await tools.store.read((tx) => tx.getAgent({ id: attempt.agentId }))) as AgentRow;
    await this.#writeConfig(agent);
    const socket = await this.#listen(agent, { join: async () => attempt, leave: async () => {} });
    return { mcpConfig: home.mcpConfig(agent.id), close: () => socket.close() };
  };

  async openExternal(agents: readonly AgentRow[]): Promise<void> {
    const { external } = this.#options;
    for (const agent of agents) {
      if (this.#external.has(agent.id)) continue;
      await this.#writeConfig(agent);
      const join = () => external.join(agent.id);
      this.#external.set(agent.id, await this.#listen(agent, { join, leave: () => this.#leave(agent.id) }));
    }
  }

  async closeExternal(agentId: string): Promise<void> {
    await this.#external.get(agentId)?.close();
    this.#external.delete(agentId);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#external.keys()].map((agentId) => this.closeExternal(agentId)));
    await this.#options.external.settled();
  }

  #leave(agentId: string): Promise<void> {
    const { external, log } = this.#options;
    return external.leave(agentId).catch((error) => log.error({ agentId, error: error.message }, 'leaving failed'));
  }

  async #listen(
    agent: AgentRow,
    seat: { join: () => Promise<Attempt>; leave: () => Promise<void> },
  ): Promise<AgentSocket> {
    const { home, tools, version } = this.#options;
    const path = home.agentSocket(agent.id);
    const socket = await listenForAgent({ path, agent, tools, version, ...seat });
    return {
      close: async () => {
        await socket.close();
        await rm(path, { force: true });
      },
    };
  }

  /** What every provider is given to find the agent's tools. */
  async #writeConfig(agent: AgentRow): Promise<void> {
    const { home } = this.#options;
    await mkdir(home.agentDirectory(agent.id), { recursive: true, mode: 0o700 });
    await mkdir(agent.workspace, { recursive: true, mode: 0o700 });
    const config = {
      mcpServers: {
        substrat: {
          command: process.execPath,
          args: [BRIDGE, '--agent-id', agent.id],
          env: { SUBSTRAT_SOCKET: home.agentSocket(agent.id) },
        },
      },
    };
    await writeFile(home.mcpConfig(agent.id), `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  }
}
