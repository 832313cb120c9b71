import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, rmdirSync, type Stats } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { SubstratError } from './errors.ts';
import { shorten } from './text.ts';
import { withUserUmask } from './umask.ts';

/**
 * Opens a location without read access. Node has no name for this flag; its value is the same on every Linux we
 * support.
 */
const O_PATH = 0o10000000;
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Opens `path` one component at a time from `base` and refuses a symlink at each step. The descriptor keeps pointing
 * to the same file whatever is put at the path later. The caller closes it.
 */
export function openWithoutLinks(base: string, path: string): number {
  return walk(openSync(base, O_PATH | O_DIRECTORY), partsOf(base, path), path);
}

/** A directory that `removeDirectories` removes, if it is still the same directory. */
export interface MadeDirectory {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

/**
 * Creates the missing directories from `outer` down to `path`. Each one is opened without following a symlink and the
 * next is created inside the open one, so swapping a directory for a symlink meanwhile causes an error. Without
 * `mode`, the user's umask applies.
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

/** Removes the directories that still exist and are empty, without following symlinks. */
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
      // It is in use or already gone.
    }
  }
}

/** Creates a missing mount point below an open directory without following symlinks. */
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

/** Takes ownership of the descriptor `from`. */
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

/** Returns false if something exists there. */
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

/** The /proc entry of a descriptor leads to the directory that was opened; a name after it is looked up inside. */
function at(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

function partsOf(base: string, path: string): string[] {
  return relative(base, path).split(sep).filter(Boolean);
}

function isLink(path: string, part: string): SubstratError {
  const where = part === '' || path.endsWith(`/${part}`) ? path : `${part} in the path ${path}`;
  return new SubstratError('forbidden', `${where} is a symbolic link; the sandbox does not follow links.`);
}

function refusal(path: string, error: unknown): SubstratError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new SubstratError('forbidden', `${path} cannot be mounted in the sandbox: ${code ?? message}.`, {
    cause: error,
  });
}
