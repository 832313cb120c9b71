import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = '/usr/sbin/pgbouncer';

export const hasPgBouncer = spawnSync(PROGRAM, ['--version']).status === 0;

/** PgBouncer in transaction mode, in front of a database on a Unix socket. Returns the URL through it. */
export async function startPgBouncer(database: string): Promise<{ readonly url: string; readonly stop: () => void }> {
  const target = new URL(database);
  const directory = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const name = target.pathname.slice(1);
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
${name} = host=${target.searchParams.get('host')} dbname=${name} user=postgres
[pgbouncer]
pool_mode = transaction
default_pool_size = 4
auth_type = any
unix_socket_dir = ${directory}
logfile =
`,
  );
  // It refuses root; in a user namespace it is somebody else and can still read what root can.
  const namespace = process.getuid?.() === 0 ? ['unshare', '-U', '--map-user=65534', '--map-group=65534', '--'] : [];
  const [program = PROGRAM, ...args] = [...namespace, PROGRAM, file];
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const up = await new Promise<boolean>((resolve) => {
    child.stderr.on('data', (chunk) => String(chunk).includes('process up') && resolve(true));
    child.on('exit', () => resolve(false));
  });
  if (!up) throw new Error('PgBouncer did not start');
  const stop = () => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  };
  return { url: `postgres://postgres@localhost:6432/${name}?host=${encodeURIComponent(directory)}`, stop };
}
