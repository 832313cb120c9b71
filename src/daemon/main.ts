import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { makeHome } from '../config/home.ts';
import type { PostgresCheck } from '../store/check-postgres.ts';
import { Daemon } from './daemon.ts';
import { createLastResort } from './last-resort.ts';
import { openLog } from './log.ts';

export { checkStore } from '../store/check.ts';

/** Imports the driver lazily: every module delays the start. */
export async function checkPostgres(url: string): Promise<PostgresCheck> {
  return (await import('../store/check-postgres.ts')).checkPostgres(url);
}
export { checkRememberedStore } from './remembered-store.ts';

const CLOSES_ON_EXEC = 0o2000000;
const LINGER_MS = 500;

export interface UpOptions {
  readonly home: string;
  readonly configFile: string | null;
  readonly version: string;
  /** Substrat's own demo program. It may run without a sandbox if none can be created. */
  readonly ownProgram?: string;
  readonly switchStore?: boolean;
  /** Instead of `[server] bind`. */
  readonly bind?: { readonly host: string; readonly port: number };
  /** Called when the daemon is ready; `after` is the last event before the start. Return when `stopping` aborts. */
  readonly onUp: (
    daemon: { readonly url: string | null; readonly after: number },
    stopping: AbortSignal,
  ) => Promise<void>;
}

/** Runs the daemon in this process until a signal stops it. */
export async function up({
  home,
  configFile,
  version,
  ownProgram,
  switchStore = false,
  bind,
  onUp,
}: UpOptions): Promise<void> {
  const config = loadConfig({ ...(configFile && { file: configFile }), cwd: process.cwd(), home, env: process.env });
  makeHome(home);
  closeInherited();
  const log = openLog(join(home, 'daemon.log'));
  for (const warning of config.warnings) log.warn({}, warning);
  let daemon: Daemon | null = null;
  const decide = createLastResort();
  process.on('uncaughtException', (error: unknown) => {
    const details = { error: error instanceof Error ? error.stack : String(error) };
    if (decide(error) === 'go on') return log.error(details, 'unhandled error; the daemon continues');
    log.error(details, 'the daemon dies');
    daemon?.tracing?.tellLast(details, 'the daemon dies');
    process.stderr.write(`${details.error}\n`);
    process.exit(1);
  });
  const stopping = new AbortController();
  // Before the daemon is reachable: a client may stop it as soon as it is up.
  // Under `npm start`, Ctrl-C arrives twice, from the terminal and from npm; the second signal has no effect.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());
  const own = { ...(ownProgram && { ownProgram }), ...(bind && { bind }) };
  daemon = await Daemon.start({ home, config, version, log, switchStore, ...own });
  try {
    const { url } = await daemon.api.status();
    await Promise.all([onUp({ url, after: daemon.startedAfter }, stopping.signal), untilAborted(stopping.signal)]);
  } finally {
    await daemon.stop();
    endInDoubt(daemon.store.problem());
    // Do not wait for what libraries still try, such as a connection to an unreachable collector.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/**
 * Exits as soon as the output is written. Node removes its signal handlers shortly before a natural exit. A Ctrl-C
 * that npm forwards then would make `npm start` fail with code 130.
 */
export function endAtOnce(): void {
  process.stdout.write('', () => process.exit());
}

/** Exits without closing the store: SQLite could checkpoint into another file that has the store's name now. */
function endInDoubt(problem: string | null): void {
  if (problem === null) return;
  process.stderr.write(`substrat: ${problem}\n`);
  process.exit(1);
}

/** Closes file descriptors inherited from the parent process; otherwise, every program that we start inherits them. */
function closeInherited(): void {
  if (process.platform !== 'linux') return;
  const channel = Number(process.env.NODE_CHANNEL_FD ?? Number.NaN);
  for (const descriptor of readdirSync('/proc/self/fd').map(Number)) {
    if (descriptor <= 2 || descriptor === channel) continue;
    try {
      const flags = Number.parseInt(
        /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '',
        8,
      );
      if ((flags & CLOSES_ON_EXEC) === 0) closeSync(descriptor);
    } catch {
      // The descriptor of the directory listing itself is closed already.
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
}
