import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, type AgentCreation, type Client, createClient } from '../../src/client/client.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { openLog } from '../../src/daemon/log.ts';
import { takeSharedDatabase } from './engine.ts';
import { writeTwice } from './repeating-store.ts';
import { noteStore, storeRows } from './store-rows.ts';

export { storeRows } from './store-rows.ts';

export interface DaemonSetup {
  /** The text of its `substrat.toml`. */
  readonly config?: string;
  /** Files next to it, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Agents to create, parents first; one without a provider and a program is external. */
  readonly members?: Readonly<Record<string, Partial<AgentCreation>>>;
  readonly clock?: () => number;
  /** The URL of the PostgreSQL database to use, if the default one of the test's engine is not suitable. */
  readonly database?: string;
  /** Further settings of `[db]`, for `database`. */
  readonly db?: string;
  /** `[server] public_url`. */
  readonly publicUrl?: string;
  /** `none` by default, because it is faster; tests of the sandbox set it. */
  readonly sandbox?: 'bwrap' | 'none';
  /** Settings of `[sandbox]`, apart from the mode. */
  readonly roots?: readonly string[];
  readonly network?: readonly string[];
  /** Such as `max_processes = 10`. */
  readonly machine?: string;
}

export interface TestDaemon extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly home: string;
  /** The test's own directory next to the home; removed with it. */
  readonly directory: string;
  readonly client: Client;
  /** The member with that name. */
  agent(name: string): Agent;
  /**
   * Writes a scripted agent whose turn is this function's source, such as `async ({ call }) => 'done'`; returns the
   * file.
   */
  program(name: string, agent: string): string;
  log(): string;
  /** Stops it, throws if it left something behind, and removes its files. Idempotent. */
  stop(): Promise<void>;
}

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');

/** A real daemon in this process, with its own home. */
export async function startDaemon(setup: DaemonSetup = {}): Promise<TestDaemon> {
  const directory = mkdtempSync(join(tmpdir(), 'substrat-'));
  const home = join(directory, 'home');
  const file = join(directory, 'substrat.toml');
  mkdirSync(home, { mode: 0o700 });
  const sandbox = `mode = "${setup.sandbox ?? 'none'}"\nnetwork = ${JSON.stringify(setup.network ?? [])}\nroots = ${JSON.stringify(setup.roots ?? [])}\n${setup.machine ?? ''}`;
  const database = setup.database === undefined ? await takeSharedDatabase() : null;
  const url = setup.database ?? database?.url;
  if (url !== undefined) noteStore(home, url);
  const db = url === undefined ? '' : `[db]\nurl = ${JSON.stringify(url)}\n${setup.db ?? ''}\n`;
  const place = setup.publicUrl === undefined ? '' : `public_url = ${JSON.stringify(setup.publicUrl)}\n`;
  writeFileSync(file, `${setup.config ?? ''}\n${db}[server]\nbind = "127.0.0.1:0"\n${place}[sandbox]\n${sandbox}\n`);
  for (const [name, text] of Object.entries(setup.files ?? {})) writeFileSync(join(directory, name), text);
  let daemon: Daemon;
  try {
    const config = loadConfig({ file, cwd: directory, home, env: {} });
    const log = openLog(join(home, 'daemon.log'));
    daemon = await Daemon.start({ home, config, version: '0.0.0', log, ...(setup.clock && { clock: setup.clock }) });
    writeTwice(daemon.store);
  } catch (error) {
    rmSync(directory, { recursive: true });
    await database?.giveBack();
    throw error;
  }

  const endAndRemove = async (): Promise<void> => {
    try {
      await end(daemon, home);
    } finally {
      rmSync(directory, { recursive: true, force: true });
      await database?.giveBack();
    }
  };
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= endAndRemove();
    return stopped;
  };
  const client = createClient({ home });
  const agents: Record<string, Agent> = {};
  try {
    for (const [name, member] of Object.entries(setup.members ?? {})) {
      agents[name] = await client.createAgent({ name, ...(!member.program && { provider: 'external' }), ...member });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    daemon,
    home,
    directory,
    client,
    agent: (name) => {
      const agent = agents[name];
      if (!agent) throw new Error(`There is no member ${name}.`);
      return agent;
    },
    program: (name, agent) => {
      const path = join(directory, `${name}.ts`);
      writeFileSync(path, `import { runAgent, ToolError } from '${SCRIPTED}';\nawait runAgent(${agent});\n`);
      return path;
    },
    log: () => readFileSync(join(home, 'daemon.log'), 'utf8'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function end(daemon: Daemon, home: string): Promise<void> {
  const agentIds = readdirSync(join(home, 'agents'));
  await daemon.stop();
  const left = [
    ...filesIn(home).filter((path) => lstatSync(path).isSocket() || path.endsWith('daemon.pid')),
    ...processesOfAgents(agentIds).map((pid) => `process ${pid}`),
    ...(await runsLeftRunning(home)).map((id) => `run ${id} in state running`),
    ...(readFileSync(join(home, 'daemon.log'), 'utf8').includes('were asleep') ? ['agents that nobody woke'] : []),
  ];
  if (left.length > 0) throw new Error(`The daemon left behind: ${left.join(', ')}`);
}

async function runsLeftRunning(home: string): Promise<string[]> {
  const { runs = [] } = await storeRows(home);
  return (runs as { id: string; state: string }[]).filter(({ state }) => state === 'running').map(({ id }) => id);
}

/** Node's own recursive readdir follows symlinks to directories, even in cycles. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? [path, ...filesIn(path)] : [path];
  });
}

/** Everything a turn starts, in any group, has the agent's id in its environment. */
function processesOfAgents(agentIds: readonly string[]): string[] {
  const marks = agentIds.map((id) => `SUBSTRAT_AGENT_ID=${id}`);
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => environment(pid).some((variable) => marks.includes(variable)));
}

function environment(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
