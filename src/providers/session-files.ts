import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { namesIn } from '../core/names-in.ts';
import { readAll, UnreadableFile } from '../core/regular-file.ts';
import { replaceInHome } from './agent-home.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 2_000;
const MAX_DEPTH = 16;

/** A file of a session, with its path in the agent's home. */
export interface SessionFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/**
 * Reads the files of a session: the listed paths in an agent's home, and nothing else. The agent can have put anything
 * there, so each step is opened without following a symlink, and only regular files and directories count. Throws
 * `too_large` beyond the limits.
 */
export function readSession(
  home: string,
  paths: readonly string[],
  { maxBytes = MAX_BYTES, maxFiles = MAX_FILES }: { readonly maxBytes?: number; readonly maxFiles?: number } = {},
): SessionFile[] {
  const files: SessionFile[] = [];
  let bytes = 0;
  // Directories and links count, too: looking at them takes time.
  const maxEntries = 2 * maxFiles;
  let entries = 0;
  const refuse = () => {
    const limit = `${maxFiles} files or ${Math.floor(maxBytes / 1024 / 1024)} MiB`;
    throw new SubstratError('too_large', `The session has more than ${limit}.`);
  };

  function readDirectory(held: number, path: string, depth: number): void {
    if (depth > MAX_DEPTH) refuse();
    const here = `/proc/self/fd/${held}`;
    const names = namesIn(here, maxEntries - entries);
    entries += names.length;
    if (entries > maxEntries) refuse();
    for (const name of names.sort()) readOne(join(here, name), `${path}/${name}`, depth + 1);
  }

  function readOne(source: string, path: string, depth: number): void {
    const held = tryOpen(source, O_NONBLOCK);
    if (held === null) return;
    try {
      const stats = fstatSync(held);
      if (stats.isDirectory()) readDirectory(held, path, depth);
      if (!stats.isFile()) return;
      const content = readAll(held, maxBytes - bytes);
      bytes += content.length;
      if (files.length === maxFiles) refuse();
      files.push({ path, bytes: content });
    } catch (error) {
      if (error instanceof UnreadableFile && error.code === 'E2BIG') refuse();
      throw error;
    } finally {
      closeSync(held);
    }
  }

  for (const path of paths) {
    inDirectory(home, path.split('/').slice(0, -1), (directory) => readOne(join(directory, nameOf(path)), path, 0));
  }
  return files;
}

/** Writes the files of a session into a new home. */
export function writeSession(home: string, files: Iterable<SessionFile>): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  for (const { path, bytes } of files) {
    // They come from the store, which other nodes write.
    if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) {
      throw new SubstratError('bad_request', 'A snapshot contains a path outside the home.');
    }
    replaceInHome(home, path, bytes);
  }
}

/** Calls `use` with the directory, each step of which is held open. Does nothing if one is missing or a symlink. */
function inDirectory(home: string, names: readonly string[], use: (directory: string) => void): void {
  const held: number[] = [];
  try {
    for (const step of [home, ...names]) {
      const next = tryOpen(held.length === 0 ? step : join(`/proc/self/fd/${held.at(-1)}`, step), O_DIRECTORY);
      if (next === null) return;
      held.push(next);
    }
    use(`/proc/self/fd/${held.at(-1)}`);
  } finally {
    for (const descriptor of held) closeSync(descriptor);
  }
}

/** Null if there is nothing, or a symlink, socket or device. */
function tryOpen(path: string, flag: number): number | null {
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW | flag);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
