import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { RESTORING } from '../backup/layout.ts';
import { unusable } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';

/** The paths of one daemon's home. Only its owner can read it. */
export interface Home {
  readonly path: string;
  readonly socket: string;
  readonly agents: string;
  /** Distinguishes this daemon's agents from those of other daemons on the same store. */
  readonly nodeId: string;
  /** The owner's bearer token for the API on TCP. */
  readonly token: string;
  agentDirectory(agentId: string): string;
  /** `HOME` of the agent's programs in the sandbox. */
  agentHome(agentId: string): string;
  agentSocket(agentId: string): string;
  mcpConfig(agentId: string): string;
  workspace(agentId: string): string;
  /** Whether the last daemon crashed instead of being stopped. */
  readonly died: boolean;
  /** Releases the home for the next daemon. */
  release(): void;
}

/** The longest path of a Unix socket on Linux, in bytes. */
const MAX_SOCKET_PATH = 107;

/** Locks the home for this process. Throws if another daemon runs on it. */
export function takeHome(path: string): Home {
  const agentDirectory = (agentId: string) => join(path, 'agents', agentId);
  const agentSocket = (agentId: string) => join(agentDirectory(agentId), 'agent.sock');
  checkLength(path, agentSocket(randomUUID()));
  const lock = makeAndLock(path);
  const pidFile = join(path, 'daemon.pid');
  const release = (): void => {
    rmSync(pidFile, { force: true });
    lock.close();
  };
  const died = existsSync(pidFile);
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
    return {
      path,
      socket: join(path, 'daemon.sock'),
      agents: join(path, 'agents'),
      nodeId: kept(join(path, 'node'), randomUUID),
      token: kept(join(path, 'token'), () => randomBytes(32).toString('base64url')),
      agentDirectory,
      agentHome: (agentId) => join(agentDirectory(agentId), 'home'),
      agentSocket,
      mcpConfig: (agentId) => join(agentDirectory(agentId), 'mcp.json'),
      workspace: (agentId) => join(path, 'workspaces', agentId),
      died,
      release,
    };
  } catch (error) {
    release();
    throw unusable(path, error);
  }
}

function checkLength(path: string, longest: string): void {
  const bytes = Buffer.byteLength(longest);
  if (bytes <= MAX_SOCKET_PATH) return;
  throw new SubstratError(
    'config',
    `The home ${path} is too long: the paths of its sockets would have ${bytes} bytes; the limit is ${MAX_SOCKET_PATH}. Set SUBSTRAT_HOME to a shorter path.`,
  );
}

function makeAndLock(path: string): Database.Database {
  try {
    for (const directory of [path, join(path, 'agents'), join(path, 'workspaces')]) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    }
    chmodSync(path, 0o700);
    const lock = lockHome(path);
    try {
      refuseHalfRestored(path);
    } catch (error) {
      lock.close();
      throw error;
    }
    return lock;
  } catch (error) {
    throw unusable(path, error);
  }
}

function refuseHalfRestored(path: string): void {
  const staging = join(path, RESTORING);
  if (!existsSync(staging)) return;
  const message = `A restore into ${path} did not finish. Run \`substrat restore FILE --force\` again, or remove ${staging} to start with the current files.`;
  throw new SubstratError('config', message);
}

/** The kernel releases this lock when the process dies for any reason; a pid file would stay. */
export function lockHome(path: string): Database.Database {
  const lock = new Database(join(path, 'daemon.lock'), { timeout: 0 });
  try {
    lock.pragma('journal_mode = memory');
    lock.exec('begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new SubstratError(
      'home_in_use',
      `A daemon is already running on ${path}${pidText(path)}. Stop it with \`substrat daemon stop\`, or set SUBSTRAT_HOME to another home.`,
    );
  }
}

function pidText(path: string): string {
  try {
    return ` (pid ${readFileSync(join(path, 'daemon.pid'), 'utf8').trim()})`;
  } catch {
    return '';
  }
}

/** Returns the value in the file; creates it on first use. */
function kept(file: string, make: () => string): string {
  // The file is empty if a daemon crashed between creating and writing it.
  const known = existsSync(file) && readFileSync(file, 'utf8').trim();
  if (known) return known;
  const value = make();
  writeFileSync(file, `${value}\n`, { mode: 0o600 });
  return value;
}
