import { accessSync, chmodSync, constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';

/** `$SUBSTRAT_HOME`, or `.substrat` in the person's home directory. */
export function resolveHome(env: Environment): string {
  return resolve(env.SUBSTRAT_HOME || join(userHome(env), '.substrat'));
}

/** Returns null if the home has no configuration. */
export function homeConfig(home: string): string | null {
  const file = join(home, 'config.toml');
  return existsSync(file) ? file : null;
}

/** Creates the home with access only for its owner. If it exists and others can enter it, removes their access. */
export function makeHome(path: string): void {
  try {
    makeDirectory(path);
    tightenHome(path);
    accessSync(path, constants.W_OK);
    const probe = join(path, '.probe');
    writeFileSync(probe, Buffer.alloc(4096), { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Names of agents and sources are private. A home that does not exist or belongs to another user is left unchanged. */
export function tightenHome(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) !== 0) chmodSync(path, 0o700);
}

export function unusable(path: string, error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === 'ENOSPC' || code === 'SQLITE_FULL' ? 'the disk is full; free some space' : message;
  const isDenied = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
  const advice = isDenied ? ' Make it writable for you, or set SUBSTRAT_HOME to another directory.' : '';
  return new SubstratError('config', `The home ${path} cannot be used: ${reason}.${advice}`, { cause: error });
}

/** Node's recursive mkdir loops forever on file systems that refuse directories, such as /proc. */
function makeDirectory(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  if (!existsSync(dirname(path))) makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

export function userHome(env: Environment): string {
  return env.HOME || homedir();
}
