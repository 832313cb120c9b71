import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createClient } from '../../src/client/client.ts';
import { until } from './until.ts';

export const launcher = join(import.meta.dirname, '../../bin/substrat');

interface Surroundings {
  readonly home: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The program to start instead of bin/substrat. */
  readonly program?: string;
  /** The daemon's configuration; without it and with `cwd`, the home's own. */
  readonly config?: string;
  /** Our descriptors that it inherits, from 3. */
  readonly inherit?: readonly number[];
}

/** Runs the command line to its end. */
export async function runSubstrat(args: readonly string[], where: Surroundings) {
  const child = start(args, where);
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
  ]);
  return { code, stdout, stderr };
}

/** A daemon in its own process, ready for requests. */
export async function startDaemonProcess(where: Surroundings) {
  const child = start(['up', '--quiet'], where);
  const exited = once(child, 'exit');
  let problem = '';
  child.stderr?.on('data', (chunk) => {
    problem += chunk;
  });
  const client = createClient({ home: where.home });
  try {
    await until('the daemon answers', async () => {
      if (child.exitCode !== null) throw new Error(problem);
      return client.getStatus().catch(() => null);
    });
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return ((await exited) as [number | null])[0];
  };
  const ended = exited.then(([code]) => code as number | null);
  return { pid: child.pid as number, client, ended, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}

/** A directory with a configuration whose daemon does not use the default port, which a person's own may have. */
function makePlace(): string {
  const directory = mkdtempSync(join(tmpdir(), 'place-'));
  writeFileSync(join(directory, 'test.toml'), '[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n');
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

let place: string | undefined;

/** Starts the command line. */
export function start(args: readonly string[], where: Surroundings): ChildProcess {
  const { home, cwd, env, program, inherit = [] } = where;
  place ??= makePlace();
  const config = where.config ?? (cwd === undefined ? join(place, 'test.toml') : null);
  const named = config !== null && isOfDaemon(args) && !args.includes('--config') ? ['--config', config] : [];
  const own = { PATH: process.env.PATH ?? '', HOME: home, SUBSTRAT_HOME: home };
  return spawn(program ?? launcher, [...args, ...named], {
    cwd: cwd ?? place,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...inherit],
  });
}

function isOfDaemon([command, verb]: readonly string[]): boolean {
  return command === 'up' || command === 'doctor' || (command === 'daemon' && verb === 'start');
}
