import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient, type Status } from '../client/client.ts';
import { makeHome, unusable } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';

const PATIENCE_MS = 20_000;
const PRELOAD = fileURLToPath(new URL('../../bin/preload.cjs', import.meta.url));

export interface BackgroundOptions {
  readonly config?: string | undefined;
  readonly switchStore?: boolean | undefined;
  readonly bind?: string | undefined;
}

/** Starts a daemon as a process of its own and waits until it is reachable. */
export async function startInBackground(
  home: string,
  { config, switchStore, bind }: BackgroundOptions = {},
): Promise<Status> {
  makeHome(home);
  const out = join(home, 'daemon.out');
  const file = openOutput(out);
  const args = [
    '--require',
    PRELOAD,
    process.argv[1] as string,
    'up',
    '--quiet',
    ...(config ? ['--config', config] : []),
    ...(switchStore ? ['--switch-store'] : []),
    ...(bind === undefined ? [] : ['--bind', bind]),
  ];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', file, file] });
  closeSync(file);
  let exit: number | null = null;
  child.on('exit', (code) => {
    exit = code ?? 1;
  });
  // A daemon that is backing up its store logs its progress.
  const log = join(home, 'daemon.log');
  let known = sizeOf(log);
  for (let giveUp = performance.now() + PATIENCE_MS; performance.now() < giveUp && exit === null; await sleep(20)) {
    const size = sizeOf(log);
    if (size !== known) giveUp = performance.now() + PATIENCE_MS;
    known = size;
    const status = await statusOf(home);
    if (status?.pid !== child.pid || !status?.url) continue;
    child.unref();
    return status;
  }
  if (exit === null) child.kill('SIGKILL');
  const reason = readFileSync(out, 'utf8')
    .trim()
    .replace(/^substrat: /, '');
  throw new SubstratError('not_running', reason || `The daemon did not start within ${PATIENCE_MS / 1000} seconds.`);
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

function openOutput(file: string): number {
  try {
    return openSync(file, 'w', 0o600);
  } catch (error) {
    throw unusable(dirname(file), error);
  }
}

/** Ends the daemon and waits for it. Interrupted turns are retried at the next start. */
export async function stopInBackground(pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM');
  for (const giveUp = performance.now() + PATIENCE_MS; isAlive(pid); await sleep(20)) {
    if (performance.now() < giveUp) continue;
    const message = `The daemon (pid ${pid}) does not stop. \`kill -9 ${pid}\` is safe: nothing is lost.`;
    throw new SubstratError('timeout', message);
  }
}

/** Null if no daemon runs on this home. */
export async function statusOf(home: string): Promise<Status | null> {
  try {
    return await createClient({ home }).getStatus();
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'not_running') return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
