import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from '../src/client/client.ts';

const LAUNCHER = fileURLToPath(new URL('../bin/substrat', import.meta.url));
const PATIENCE_MS = 20_000;

/** Any port, because other daemons may run; no caps, which only protect against runaway agents. */
const CONFIG = `[server]
bind = "127.0.0.1:0"
[limits]
tool_calls_per_minute = 1000000
max_tree_runs = 1000000000
max_children = 100000
max_agents = 1000000
[sandbox]
`;

/** Without a sandbox, unless it is what is measured. */
const BARE = 'mode = "none"\n';

export interface RunningDaemon {
  readonly home: string;
  readonly pid: number;
  readonly client: Client;
  stop(): Promise<void>;
}

/** A real daemon, as a person starts it from the clone. Resolves when it responds. */
export async function startDaemon(home: string, env: NodeJS.ProcessEnv = {}, sandbox = BARE): Promise<RunningDaemon> {
  const child = spawnDaemon(home, env, sandbox);
  const client = createClient({ home });
  await untilUp(client, child);
  return { home, pid: child.pid as number, client, stop: () => stop(child) };
}

export function spawnDaemon(home: string, env: NodeJS.ProcessEnv = {}, sandbox = BARE): ChildProcess {
  const config = join(home, 'config.toml');
  if (!existsSync(config)) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(config, CONFIG + sandbox);
  }
  return spawn(LAUNCHER, ['up', '--quiet', '--config', config], {
    env: { ...process.env, ...env, SUBSTRAT_HOME: home },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

export async function untilUp(client: Client, daemon: ChildProcess): Promise<void> {
  for (const giveUp = Date.now() + PATIENCE_MS; Date.now() < giveUp && daemon.exitCode === null; await sleep(5)) {
    const status = await client.getStatus().catch(() => null);
    if (status?.pid === daemon.pid) return;
  }
  throw new Error('the daemon did not start');
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
