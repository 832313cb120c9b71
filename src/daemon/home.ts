import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { RESTORING } from '../backup/layout.ts';
import { unusable } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';

/** Where everything of one daemon is. All of it is the owner's only. */
export interface Home {
  readonly path: string;
  readonly socket: string;
  readonly agents: string;
  /** Tells this daemon's agents from those of others on the same store. */
  readonly nodeId: string;
  /** What opens the API on TCP. */
  readonly token: string;
  agentDirectory(agentId: string): string;
  /** `HOME` of its programs, where they are confined. */
  agentHome(agentId: string): string;
  agentSocket(agentId: string): string;
  mcpConfig(agentId: string): string;
  workspace(agentId: string): string;
  /** Whether the last daemon died here instead of being stopped. */
  readonly died: boolean;
  /** Gives the home up for the next daemon. */
  release(): void;
}

/** What a Unix socket's path may have on Linux. */
const MAX_SOCKET_PATH = 107;

/** Takes the home for this process; a second daemon on it is refused. */
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

/** The kernel frees this lock when the process dies, however it dies; a file with a pid in it does not. */
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

/** A value that is made once and stays. */
function kept(file: string, make: () => string): string {
  // It is empty if the daemon that made it died before it wrote.
  const known = existsSync(file) && readFileSync(file, 'utf8').trim();
  if (known) return known;
  const value = make();
  writeFileSync(file, `${value}\n`, { mode: 0o600 });
  return value;
}
