import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { makeHome } from '../config/home.ts';
import type { PostgresCheck } from '../store/check-postgres.ts';
import { Daemon } from './daemon.ts';
import { createLastResort } from './last-resort.ts';
import { openLog } from './log.ts';

export { checkStore } from '../store/check.ts';

/** Loads the driver only where it is asked: a start counts every module. */
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
  /** A program of ours that may run where no sandbox can be made. */
  readonly ownProgram?: string;
  readonly switchStore?: boolean;
  /** Called when the daemon answers, with the number of the last event before; ends when the daemon is told to stop. */
  readonly onUp: (
    daemon: { readonly url: string | null; readonly after: number },
    stopping: AbortSignal,
  ) => Promise<void>;
}

/** Runs the daemon in this process until it is told to stop. */
export async function up({
  home,
  configFile,
  version,
  ownProgram,
  switchStore = false,
  onUp,
}: UpOptions): Promise<void> {
  const config = loadConfig({ ...(configFile && { file: configFile }), cwd: process.cwd(), home, env: process.env });
  makeHome(home);
  closeInherited();
  const log = openLog(join(home, 'daemon.log'));
  let daemon: Daemon | null = null;
  const decide = createLastResort();
  process.on('uncaughtException', (error: unknown) => {
    const details = { error: error instanceof Error ? error.stack : String(error) };
    if (decide(error) === 'go on') return log.error(details, 'unhandled error; the daemon continues');
    log.error(details, 'the daemon dies');
    daemon?.tellLast(details, 'the daemon dies');
    process.stderr.write(`${details.error}\n`);
    process.exit(1);
  });
  const stopping = new AbortController();
  // Before it can be reached: whoever sees that it is up may stop it at once.
  // Ctrl-C reaches us twice under `npm start`, from the terminal and from npm: the second one changes nothing.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());
  daemon = await Daemon.start({ home, config, version, log, switchStore, ...(ownProgram && { ownProgram }) });
  try {
    const { url } = await daemon.api.status();
    await Promise.all([onUp({ url, after: daemon.startedAfter }, stopping.signal), untilAborted(stopping.signal)]);
  } finally {
    await daemon.stop();
    endInDoubt(daemon.store.problem());
    // Nothing of ours is left. What others still try, such as to reach a collector that does not answer, is not waited for.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/**
 * Ends the process once its output is written. A process that ends by itself has no signal handlers in its last moments,
 * and npm may pass on Ctrl-C just then: `npm start` would fail with 130 although everything ended well.
 */
export function endAtOnce(): void {
  process.stdout.write('', () => process.exit());
}

/** Without closing the store, which SQLite would do to whatever has its name now. */
function endInDoubt(problem: string | null): void {
  if (problem === null) return;
  process.stderr.write(`substrat: ${problem}\n`);
  process.exit(1);
}

/** Whatever the one who started us had open and did not mean for us would be open in every program that we start. */
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
      // It was the listing's own.
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
}
