import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { makeHome } from '../config/home.ts';
import { Daemon } from './daemon.ts';
import { followEvents } from './feed.ts';
import { openLog } from './log.ts';

export interface UpOptions {
  readonly home: string;
  readonly configFile: string | null;
  readonly version: string;
  readonly demo: boolean;
  /** Null: say nothing, as a background daemon. */
  readonly print: ((line: string) => void) | null;
}

/** Runs the daemon in this process until it is told to stop. */
export async function up(options: UpOptions): Promise<void> {
  const { home, version, demo, print } = options;
  const config = loadConfig({
    ...(options.configFile && { file: options.configFile }),
    cwd: process.cwd(),
    home,
    env: process.env,
  });
  makeHome(home);
  const log = openLog(join(home, 'daemon.log'));
  // It dies of what it does not expect, and the next one takes over; the log says why.
  process.on('uncaughtExceptionMonitor', (error) => log.error({ error: error.stack }, 'the daemon dies'));
  // Before it can be reached: whoever sees that it is up may stop it at once.
  const stopped = untilStopped();
  const daemon = await Daemon.start({ home, config, version, log });
  if (print) await Promise.race([tell(daemon, print, demo), stopped]);
  await stopped;
  print?.('Stopping ...');
  await daemon.stop();
  print?.('Stopped. Nothing is left running.');
}

/** Ctrl-C reaches us twice under `npm start`, from the terminal and from npm: the second one changes nothing. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
}

async function tell(daemon: Daemon, print: (line: string) => void, demo: boolean): Promise<void> {
  print(`Substrat ${daemon.version} is up. Home: ${daemon.home.path}`);
  print("Sandbox: none. Agents' programs run as you, with your rights; run only programs that you trust.");
  const after = await daemon.store.read((tx) => tx.getEventCounter({}));
  followEvents(daemon.store, after, (line) => print(`  ${line}`));
  if (!demo) return print('Ctrl-C stops it. `substrat agent create --help` makes a first agent.');
  print(
    'The demo: a lead asks two workers, waits without a process, and reports. Their program is ours: src/demo/team.ts',
  );
  const { startDemo } = await import('./demo.ts');
  const messageId = await startDemo(daemon);
  await requestClosed(daemon, messageId);
  for (const line of NEXT_STEPS) print(line);
}

const NEXT_STEPS = [
  '',
  'The demo is over; the daemon stays up. Try, in another terminal:',
  '  ./bin/substrat agent list',
  '  ./bin/substrat agent send demo-lead "And now?" --wait',
  '  ./bin/substrat agent create me --provider external && ./bin/substrat agent mcp me',
  'docs/scripted.md shows how to write an agent in ten lines. Ctrl-C stops the daemon.',
];

function requestClosed(daemon: Daemon, id: string): Promise<void> {
  return new Promise((resolve) => {
    const look = async (): Promise<void> => {
      const request = await daemon.store.read((tx) => tx.getRequest({ id }));
      if (request?.state !== 'closed') return;
      unsubscribe();
      // After the feed has told of it.
      setImmediate(resolve);
    };
    const unsubscribe = daemon.store.onChange(() => void look());
    void look();
  });
}
