import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createClient } from '../client/client.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { storeName } from '../config/store-name.ts';
import { SubstratError } from '../core/errors.ts';
import { describeLimits } from '../core/machine-limits.ts';
import { probeBwrap } from '../sandbox/probe.ts';
import { examinePrograms } from './examine-programs.ts';
import type { Finding } from './finding.ts';

const LITTLE_SPACE = 500 * 1024 ** 2;
const MAX_HOME = 107 - '/agents//agent.sock'.length - 36;

const STOPPED = 'not running';

/** Everything that a daemon on this home depends on, one finding each. */
export async function examine(home: string, named: string | null): Promise<Finding[]> {
  const place = nearestDirectory(home);
  const { finding, file, used } = await daemon(home);
  const configFile = named ?? file;
  return [
    node(),
    config(home, configFile),
    homeDirectory(home, place),
    sockets(home),
    finding,
    await store(home, configFile, finding.detail === STOPPED),
    await sandbox(home, configFile),
    limits(home, configFile),
    ...(await examinePrograms(configuration(home, configFile), used)),
    await diskSpace(place),
    clock(place),
  ];
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const detail = `${process.version} (${process.execPath})`;
  if (major > 22 || (major === 22 && minor >= 18)) return { what: 'Node', state: 'ok', detail };
  return { what: 'Node', state: 'problem', detail, mend: 'Install Node 22.18 or newer.' };
}

function config(home: string, file: string | null): Finding {
  try {
    const loaded = loadConfig({ ...(file && { file }), cwd: process.cwd(), home, env: process.env });
    if (loaded.warnings.length === 0)
      return { what: 'configuration', state: 'ok', detail: loaded.file ?? 'none (defaults)' };
    const mend = 'Set the variables (`substrat secret set NAME` keeps keys), or remove what has no effect.';
    return { what: 'configuration', state: 'warning', detail: loaded.warnings.join('\n'), mend };
  } catch (error) {
    const detail = (error as Error).message;
    return { what: 'configuration', state: 'problem', detail, mend: 'docs/configuration.md has every setting.' };
  }
}

function homeDirectory(home: string, place: string): Finding {
  try {
    const probe = join(place, `.substrat-probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (error) {
    const mend = `Make ${place} writable for you, or set SUBSTRAT_HOME to another directory.`;
    return { what: 'home', state: 'problem', detail: `${home}: ${(error as Error).message}`, mend };
  }
  if (!existsSync(home)) return { what: 'home', state: 'ok', detail: `${home} (created at the first start)` };
  if ((statSync(home).mode & 0o077) === 0) return { what: 'home', state: 'ok', detail: home };
  return { what: 'home', state: 'warning', detail: `other users can read ${home}`, mend: `chmod 700 ${home}` };
}

function sockets(home: string): Finding {
  const bytes = Buffer.byteLength(home);
  const detail = `the path of the home has ${bytes} bytes; the limit is ${MAX_HOME}`;
  if (bytes <= MAX_HOME) return { what: 'sockets', state: 'ok', detail };
  return { what: 'sockets', state: 'problem', detail, mend: 'Set SUBSTRAT_HOME to a shorter path.' };
}

/** The daemon and, if it runs, its configuration and the providers that its agents use. */
async function daemon(home: string): Promise<{ finding: Finding; file: string | null; used: readonly string[] }> {
  const what = 'daemon';
  try {
    const client = createClient({ home });
    const { pid, version, url, notices, config: file } = await client.getStatus();
    const { items } = await client.listAgents({ limit: 500 });
    const used = items.map(({ provider }) => provider);
    const detail = `running (pid ${pid}, version ${version}) at ${url}`;
    if (notices.length === 0) return { finding: { what, state: 'ok', detail }, file, used };
    return { finding: { what, state: 'warning', detail, mend: notices.join('\n     ') }, file, used };
  } catch (error) {
    const stopped = error instanceof SubstratError && error.code === 'not_running';
    const finding: Finding = stopped
      ? { what, state: 'warning', detail: STOPPED, mend: 'Start it with `substrat daemon start`.' }
      : { what, state: 'problem', detail: (error as Error).message, mend: 'Run `substrat daemon logs` for details.' };
    return { finding, file: null, used: [] };
  }
}

async function postgresStore(url: string, name: string): Promise<Finding> {
  const problem = (detail: string, mend: string): Finding => ({ what: 'store', state: 'problem', detail, mend });
  try {
    const { checkPostgres } = await import('../daemon/main.ts');
    const { server, version, newest } = await checkPostgres(url);
    const reached = `${name}, PostgreSQL ${server}`;
    if (version === 0)
      return { what: 'store', state: 'ok', detail: `${reached}, empty; the first start creates the schema` };
    if (version > newest) {
      const mend = 'Update Substrat, or set [db] url to another database.';
      return problem(`${reached} has schema version ${version}; this Substrat supports up to ${newest}`, mend);
    }
    const older = version < newest ? ` (the next start migrates it to ${newest})` : '';
    return { what: 'store', state: 'ok', detail: `${reached}, schema version ${version}${older}` };
  } catch (error) {
    const reason = (error as { cause?: Error }).cause?.message || (error as Error).message;
    return problem(`${name} cannot be reached: ${reason}`, 'Check `[db] url` and that the server is running.');
  }
}

async function store(home: string, configFile: string | null, idle: boolean): Promise<Finding> {
  const db = configuration(home, configFile)?.db ?? { path: join(home, 'substrat.db') };
  const name = storeName(db);
  const moved = await otherStore(home, configFile);
  if (moved !== null) return { what: 'store', state: 'problem', detail: moved };
  if (!('path' in db)) return postgresStore(db.url, name);
  const where = db.path;
  if (!existsSync(where)) return { what: 'store', state: 'ok', detail: `${name} (created at the first start)` };
  const problem = (detail: string, mend: string): Finding => ({ what: 'store', state: 'problem', detail, mend });
  const replace = `Stop the daemon, then restore a backup with \`substrat restore FILE --force\`, or move ${where} away and start again.`;
  try {
    const { checkStore } = await import('../daemon/main.ts');
    const { version, newest, damage, strangers } = checkStore(where, { nodeId: nodeOf(home), idle });
    if (damage !== null) return problem(`${where} is damaged: ${damage.replaceAll(/\s+/g, ' ')}`, replace);
    if (version > newest) {
      const mend = 'Update Substrat, or set [db] path to another file.';
      return problem(`${where} has schema version ${version}; this Substrat supports up to ${newest}`, mend);
    }
    const size = `${(statSync(where).size / 1024 ** 2).toFixed(1)} MiB`;
    const older = version < newest ? ` (the next start migrates it to ${newest})` : '';
    const detail = `${where}, ${size}, intact, schema version ${version}${older}`;
    if (strangers === 0) return { what: 'store', state: 'ok', detail };
    const mend = 'If this home replaces the other one, start the daemon and run `substrat node adopt`.';
    return {
      what: 'store',
      state: 'warning',
      detail: `${detail}; ${strangers} agents in it belong to another home`,
      mend,
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('SQLITE_CANTOPEN')) return problem(`${where}: ${message}`, `Make ${where} readable for you.`);
    return problem(`${where}: ${message}`, replace);
  }
}

/** The node id of this home; empty if no daemon ran here. */
function nodeOf(home: string): string {
  const file = join(home, 'node');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** Why a daemon on this home would refuse the configured store. */
async function otherStore(home: string, file: string | null): Promise<string | null> {
  const loaded = configuration(home, file);
  const { checkRememberedStore } = await import('../daemon/main.ts');
  try {
    if (loaded !== null) checkRememberedStore(home, loaded);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

async function sandbox(home: string, file: string | null): Promise<Finding> {
  if (configuration(home, file)?.sandbox.mode === 'none') {
    const detail =
      'none: agents run with your full permissions, so approvals, budgets and tool scopes are only a convention';
    return { what: 'sandbox', state: 'warning', detail, mend: 'On Linux, set `[sandbox] mode = "bwrap"`.' };
  }
  const problem = await probeBwrap(process.env.PATH ?? '');
  if (problem !== null) return { what: 'sandbox', state: 'problem', detail: problem };
  const { stdout } = spawnSync('bwrap', ['--version'], { encoding: 'utf8' });
  return { what: 'sandbox', state: 'ok', detail: `${stdout.trim()} works` };
}

/** What one turn may use of the machine, and who enforces it. */
function limits(home: string, file: string | null): Finding {
  const what = 'limits';
  const settings = configuration(home, file)?.sandbox;
  if (!settings) {
    return { what, state: 'warning', detail: 'unknown: the configuration cannot be read', mend: 'Correct it first.' };
  }
  if (settings.mode === 'none') {
    const mend = 'On Linux, set `[sandbox] mode = "bwrap"`.';
    return { what, state: 'warning', detail: 'none: without a sandbox, turns are not limited', mend };
  }
  const byKernel = process.getuid?.() === 0 ? 'open files' : 'open files and, at 16 times the number, threads';
  const detail = `${describeLimits(settings.limits)} per turn, watched by the daemon every 200 ms; by the kernel: ${byKernel}`;
  return { what, state: 'ok', detail };
}

/** Returns null for a broken configuration, which is a finding of its own. */
function configuration(home: string, file: string | null): Config | null {
  try {
    return loadConfig({ ...(file && { file }), cwd: process.cwd(), home, env: process.env });
  } catch {
    return null;
  }
}

async function diskSpace(place: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${place}`;
  if (free >= LITTLE_SPACE) return { what: 'disk', state: 'ok', detail };
  return {
    what: 'disk',
    state: free < LITTLE_SPACE / 10 ? 'problem' : 'warning',
    detail,
    mend: 'Free some disk space.',
  };
}

/** Deadlines and leases depend on the clock; comparing it with file times shows if it is stopped or jumps. */
function clock(place: string): Finding {
  const probe = join(place, `.substrat-probe-${process.pid}`);
  try {
    writeFileSync(probe, '');
    const drift = Math.abs(statSync(probe).mtimeMs - Date.now());
    rmSync(probe);
    const year = new Date().getFullYear();
    const detail = `${new Date().toISOString()}, ${drift.toFixed(0)} ms off the file system's clock`;
    if (drift < 5000 && year >= 2025 && year < 2100) return { what: 'clock', state: 'ok', detail };
    return { what: 'clock', state: 'problem', detail, mend: 'Set the clock (timedatectl set-ntp true).' };
  } catch {
    return { what: 'clock', state: 'warning', detail: 'not checked: the home is not writable' };
  }
}

function nearestDirectory(path: string): string {
  return existsSync(path) ? path : nearestDirectory(dirname(path));
}
