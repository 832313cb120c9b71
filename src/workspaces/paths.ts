import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { isAbsolute, join, parse, relative, sep } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { type MadeDirectory, makeDirectories } from '../core/nofollow.ts';
import { shorten } from '../core/text.ts';
import { withUserUmask } from '../core/umask.ts';

/** Whether it is that directory or something in it, by their names alone. */
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
 * A directory that is reached without a symbolic link anywhere on the way. Whoever can write a directory above it can put a
 * link in its place at any time, so this is asked again before every run.
 */
export function checkDirectory(path: string): void {
  const stats = refuseLinks(path);
  if (!stats) throw new SubstratError('not_found', `There is no directory ${shorten(path, 200)}.`);
}

/**
 * Makes what is missing of a path inside a workspace, never through a symbolic link. Without `mode` the directories have what
 * the user's umask leaves.
 */
export function makeInside(workspace: string, path: string, mode?: number): MadeDirectory[] {
  if (process.platform === 'linux') return makeDirectories(workspace, path, mode);
  // Elsewhere there is no sandbox: agents have all rights of the user, and need nobody to make directories for them.
  if (!refuseLinks(path)) withUserUmask(() => mkdirSync(path, { recursive: true, mode: mode ?? 0o777 }));
  return [];
}

/** Answers what is there, or null for nothing; a symbolic link on the way, or anything but a directory, is refused. */
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
