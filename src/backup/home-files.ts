import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import type { Entry } from './tar.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const PIECE = 256 * 1024;
const MOST_DEPTH = 64;

export interface HomeLimits {
  readonly maxFileBytes: number;
  /** Total for one home. */
  readonly maxHomeBytes: number;
  readonly maxEntries: number;
}

export interface HomeFile {
  readonly entry: Entry;
  readonly pieces: Iterable<Uint8Array>;
}

/**
 * The files, directories and symlinks in a directory that an agent writes. Symlinks are recorded and never followed:
 * on Linux, every component is opened relative to its parent and a symlink is refused, whatever the agent swaps
 * meanwhile. Omitted files are reported to `skip`.
 */
export function* homeFiles(
  root: string,
  prefix: string,
  limits: HomeLimits,
  skip: (path: string, reason: string) => void,
): Generator<HomeFile> {
  const count = { bytes: 0, entries: 0 };
  const directory = tryOpen(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (directory === null) return;
  yield { entry: entryOf('directory', prefix, fstatSync(directory)), pieces: [] };
  yield* filesIn(directory, Buffer.from(root), prefix, 1, { limits, skip, count });
}

interface Walk {
  readonly limits: HomeLimits;
  readonly skip: (path: string, reason: string) => void;
  readonly count: { bytes: number; entries: number };
}

/** Takes ownership of the descriptor. */
function* filesIn(directory: number, place: Buffer, prefix: string, depth: number, walk: Walk): Generator<HomeFile> {
  try {
    const here = process.platform === 'linux' ? Buffer.from(`/proc/self/fd/${directory}`) : place;
    for (const name of readdirSync(here, { encoding: 'latin1' }).sort()) {
      const path = `${prefix}/${name}`;
      walk.count.entries += 1;
      if (walk.count.entries > walk.limits.maxEntries)
        return walk.skip(path, 'the home has too many files; the rest is left out');
      if (depth > MOST_DEPTH) return walk.skip(path, 'it is nested too deep');
      yield* oneFile(Buffer.concat([here, Buffer.from(`/${name}`, 'latin1')]), path, depth, walk);
    }
  } finally {
    closeSync(directory);
  }
}

function* oneFile(place: Buffer, path: string, depth: number, walk: Walk): Generator<HomeFile> {
  const seen = tryLook(place);
  if (seen === null) return; // deleted since
  if (seen.isSymbolicLink()) {
    const link = tryReadLink(place);
    if (link !== null) yield { entry: { ...entryOf('link', path, seen), link }, pieces: [] };
    return;
  }
  if (!seen.isFile() && !seen.isDirectory()) return walk.skip(path, 'it is a socket, a pipe or a device');
  const descriptor = tryOpen(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor === null) return walk.skip(path, 'it cannot be opened');
  const stats = fstatSync(descriptor);
  if (stats.isDirectory()) {
    yield { entry: entryOf('directory', path, stats), pieces: [] };
    return yield* filesIn(descriptor, place, path, depth + 1, walk);
  }
  try {
    if (!stats.isFile()) return walk.skip(path, 'it is a socket, a pipe or a device');
    if (stats.size > walk.limits.maxFileBytes)
      return walk.skip(path, `it has ${stats.size} bytes ([backup] max_file_mb)`);
    if (walk.count.bytes + stats.size > walk.limits.maxHomeBytes) {
      return walk.skip(path, 'the home has too many bytes ([backup] max_home_mb)');
    }
    walk.count.bytes += stats.size;
    const entry = { ...entryOf('file', path, stats), size: stats.size };
    yield {
      entry,
      pieces: contentOf(descriptor, stats.size, () =>
        walk.skip(path, 'it became shorter while it was read; the rest is filled with zeros'),
      ),
    };
  } finally {
    closeSync(descriptor);
  }
}

/** Yields exactly `size` bytes, because the archive has already declared the size. */
function* contentOf(descriptor: number, size: number, onShort: () => void): Generator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = Buffer.alloc(Math.min(PIECE, size - at));
    const read = readSync(descriptor, piece, 0, piece.length, at);
    if (read === 0) {
      onShort();
      for (; at < size; at += PIECE) yield Buffer.alloc(Math.min(PIECE, size - at));
      return;
    }
    at += read;
    yield piece.subarray(0, read);
  }
}

/** Drops setuid and setgid bits. */
function entryOf(type: Entry['type'], path: string, stats: Stats): Entry {
  const mode = type === 'link' ? 0o777 : stats.mode & 0o777;
  return { type, path, mode, size: 0, mtime: Math.floor(stats.mtimeMs / 1000), link: '' };
}

function tryLook(place: Buffer): Stats | null {
  try {
    return lstatSync(place);
  } catch {
    return null;
  }
}

function tryReadLink(place: Buffer): string | null {
  try {
    return readlinkSync(place, { encoding: 'buffer' }).toString('latin1');
  } catch {
    return null;
  }
}

function tryOpen(place: Buffer | string, flags: number): number | null {
  try {
    return openSync(place, flags);
  } catch {
    return null;
  }
}
