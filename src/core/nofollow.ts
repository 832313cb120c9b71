import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, rmdirSync, type Stats } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { SubstratError } from './errors.ts';
import { shorten } from './text.ts';
import { withUserUmask } from './umask.ts';

/** A place in the file tree, not a way to read it. Node does not name this flag; its value is the same on every Linux that we run on. */
const O_PATH = 0o10000000;
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Opens what is at `path` step by step from `base` on, and refuses a symbolic link at each step. The descriptor stays
 * what it is whatever somebody puts at the path afterwards. The caller closes it.
 */
export function openWithoutLinks(base: string, path: string): number {
  return walk(openSync(base, O_PATH | O_DIRECTORY), partsOf(base, path), path);
}

/** What `removeDirectories` removes, if it is still the same directory. */
export interface MadeDirectory {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

/**
 * Makes the directories that are missing from `outer` down to `path`. Each is opened without following a link, and the next
 * is made in the one that is open, so whoever swaps a directory for a link meanwhile gets an error. Without `mode` they have
 * what the user's umask leaves.
 */
export function makeDirectories(outer: string, path: string, mode?: number): MadeDirectory[] {
  const made: MadeDirectory[] = [];
  const parts = partsOf('/', path);
  const existing = partsOf('/', outer).length;
  let here = openSync('/', O_PATH | O_DIRECTORY);
  try {
    for (const [index, part] of parts.entries()) {
      const step = `${at(here)}/${part}`;
      const whole = join('/', ...parts.slice(0, index + 1));
      const isNew = index >= existing && makeDirectory(step, mode);
      const next = openStep(step, whole);
      closeSync(here);
      here = next;
      const stats = fstatSync(here);
      refuseOther(stats, whole);
      if (isNew) made.push({ path: whole, device: stats.dev, inode: stats.ino });
    }
    return made;
  } catch (error) {
    removeDirectories(made);
    throw error;
  } finally {
    closeSync(here);
  }
}

/** Removes those that are still there and empty, also without following a link. */
export function removeDirectories(made: readonly MadeDirectory[]): void {
  for (const { path, device, inode } of made.toReversed()) {
    try {
      const parent = openWithoutLinks('/', dirname(path));
      try {
        const step = `${at(parent)}/${basename(path)}`;
        const { dev, ino } = lstatSync(step);
        if (dev === device && ino === inode) rmdirSync(step);
      } finally {
        closeSync(parent);
      }
    } catch {
      // Somebody uses it, or it is gone.
    }
  }
}

/** Makes what is missing below an open directory for something to be mounted there, without following a link. */
export function makeTarget(directory: number, base: string, target: string, kind: 'directory' | 'file'): void {
  const parts = partsOf(base, target);
  const name = kind === 'file' ? parts.pop() : undefined;
  const parent = walk(openSync(at(directory), O_PATH | O_DIRECTORY), parts, target, (step) => {
    makeDirectory(step);
  });
  try {
    if (name !== undefined) makeFile(`${at(parent)}/${name}`, target);
  } finally {
    closeSync(parent);
  }
}

/** Takes over the descriptor it begins with. */
function walk(from: number, parts: readonly string[], path: string, prepare?: (step: string) => void): number {
  let here = from;
  for (const part of parts) {
    const step = `${at(here)}/${part}`;
    try {
      prepare?.(step);
      const next = openSync(step, O_PATH | O_NOFOLLOW);
      closeSync(here);
      here = next;
    } catch (error) {
      closeSync(here);
      throw refusal(path, error);
    }
    if (!fstatSync(here).isSymbolicLink()) continue;
    closeSync(here);
    throw isLink(path, part);
  }
  return here;
}

/** False when something is there. */
function makeDirectory(step: string, mode?: number): boolean {
  try {
    if (mode === undefined) withUserUmask(() => mkdirSync(step));
    else mkdirSync(step, { mode });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

function openStep(step: string, path: string): number {
  try {
    return openSync(step, O_PATH | O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new SubstratError('not_found', `There is no directory ${shorten(path, 200)}.`, { cause: error });
  }
}

function refuseOther(stats: Stats, path: string): void {
  const where = shorten(path, 200);
  if (stats.isSymbolicLink()) {
    throw new SubstratError('forbidden', `${where} is a symbolic link; it must be a directory.`);
  }
  if (!stats.isDirectory()) throw new SubstratError('bad_request', `${where} is not a directory.`);
}

function makeFile(step: string, target: string): void {
  try {
    closeSync(openSync(step, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw refusal(target, error);
  }
  const there = openSync(step, O_PATH | O_NOFOLLOW);
  const linked = fstatSync(there).isSymbolicLink();
  closeSync(there);
  if (linked) throw isLink(target, '');
}

/** A descriptor's own entry leads to the very directory that was opened, and a name after it to what is in there. */
function at(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

function partsOf(base: string, path: string): string[] {
  return relative(base, path).split(sep).filter(Boolean);
}

function isLink(path: string, part: string): SubstratError {
  const where = part === '' || path.endsWith(`/${part}`) ? path : `${part} on the way to ${path}`;
  return new SubstratError('forbidden', `${where} is a symbolic link; in a sandbox it must be the thing itself.`);
}

function refusal(path: string, error: unknown): SubstratError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new SubstratError('forbidden', `${path} cannot be given to the sandbox: ${code ?? message}.`, {
    cause: error,
  });
}
