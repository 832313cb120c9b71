import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { isAbsolute, join, parse, relative, sep } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { type MadeDirectory, makeDirectories } from '../core/nofollow.ts';
import { shorten } from '../core/text.ts';
import { withUserUmask } from '../core/umask.ts';

/** Whether `inner` is `outer` or inside it, lexically. */
export function isInside(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** The directories from the first one below `outer` down to `inner`. */
function between(outer: string, inner: string): string[] {
  const parts = relative(outer, inner).split(sep).filter(Boolean);
  return parts.map((_, i) => join(outer, ...parts.slice(0, i + 1)));
}

/**
 * Checks that a directory is reached without a symlink anywhere in its path. Anybody who can write a parent directory
 * can replace it by a symlink at any time, so this is checked before every run.
 */
export function checkDirectory(path: string): void {
  const stats = refuseLinks(path);
  if (!stats) throw new SubstratError('not_found', `There is no directory ${shorten(path, 200)}.`);
}

/**
 * Creates the missing part of a path inside a workspace, never through a symlink. Without `mode`, the user's umask
 * applies.
 */
export function makeInside(workspace: string, path: string, mode?: number): MadeDirectory[] {
  if (process.platform === 'linux') return makeDirectories(workspace, path, mode);
  // Other platforms have no sandbox: agents already have all rights of the user.
  if (!refuseLinks(path)) withUserUmask(() => mkdirSync(path, { recursive: true, mode: mode ?? 0o777 }));
  return [];
}

/** Returns what exists at the path, or null. Refuses a symlink in the path, and anything but a directory. */
export function refuseLinks(path: string): Stats | null {
  let stats: Stats | null = null;
  for (const part of between(parse(path).root, path)) {
    stats = look(part);
    if (!stats) return null;
    if (stats.isSymbolicLink()) throw isLink(part);
    if (!stats.isDirectory()) throw new SubstratError('bad_request', `${shorten(part, 200)} is not a directory.`);
  }
  return stats ?? look(path);
}

function look(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new SubstratError('bad_request', `${shorten(path, 200)} cannot be used: ${code}.`, { cause: error });
  }
}

function isLink(path: string): SubstratError {
  return new SubstratError(
    'forbidden',
    `The workspace directory ${shorten(path, 200)} is a symbolic link; it must be a directory.`,
  );
}
