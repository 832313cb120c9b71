import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isHiddenPath } from '../core/credential-files.ts';
import { SubstratError } from '../core/errors.ts';
import { namesIn } from '../core/names-in.ts';
import { openWithoutLinks } from '../core/nofollow.ts';
import { shorten } from '../core/text.ts';

/** Bytes of one page of a file. */
const PAGE_BYTES = 1024 * 1024;
const MOST_ENTRIES = 2_000;
/** An agent can fill a directory with millions of names; the rest is not read. */
const MOST_NAMES = 10_000;

type EntryKind = 'file' | 'directory' | 'link' | 'other';

export interface Listed {
  readonly kind: 'directory';
  readonly entries: readonly { readonly name: string; readonly kind: EntryKind; readonly size: number | null }[];
  /** The directory has more entries than are listed. */
  readonly truncated: boolean;
}

export interface FilePage {
  readonly kind: 'file';
  readonly size: number;
  readonly bytes: Buffer;
  /** Where the next page begins; null at the end. */
  readonly nextOffset: number | null;
}

/**
 * Reads a file or a directory of a workspace for a person. An agent may replace any part of the path at any time, so
 * each step is opened inside the one before and no symlink is followed. Only regular files are read, without blocking.
 * `base` contains the workspace and cannot be written by agents.
 */
export function readInside(base: string, workspace: string, path: string, offset: number): Listed | FilePage {
  if (process.platform !== 'linux') throw new SubstratError('unsupported', 'Files can be shown only on Linux.');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..') || path.includes('\0') || isHiddenPath(parts)) throw notShown(path);
  const place = open(base, join(workspace, ...parts), path);
  try {
    const stats = fstatSync(place);
    const opened = `/proc/self/fd/${place}`;
    if (stats.isDirectory()) return list(opened);
    if (stats.isFile()) return read(opened, offset, path);
    throw new SubstratError('bad_request', `${shorten(path, 200)} is not a regular file.`);
  } finally {
    closeSync(place);
  }
}

function open(base: string, whole: string, path: string): number {
  try {
    return openWithoutLinks(base, whole);
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') throw notShown(path);
    if (code === undefined) throw new SubstratError('forbidden', 'Symbolic links are not followed.', { cause: error });
    throw new SubstratError('forbidden', `${shorten(path, 200)} cannot be read: ${code}.`, { cause: error });
  }
}

function list(directory: string): Listed {
  const all = namesIn(directory, MOST_NAMES);
  const names = all.slice(0, MOST_NAMES).filter((name) => !isHiddenPath([name]));
  const entries = names
    .toSorted()
    .slice(0, MOST_ENTRIES)
    .flatMap((name) => {
      const stats = lstatSync(join(directory, name), { throwIfNoEntry: false });
      return stats ? [{ name, kind: kindOf(stats), size: stats.isFile() ? stats.size : null }] : [];
    });
  return { kind: 'directory', entries, truncated: names.length > MOST_ENTRIES || all.length > MOST_NAMES };
}

function kindOf(stats: Stats): EntryKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

function read(opened: string, offset: number, path: string): FilePage {
  const { O_NOCTTY, O_NONBLOCK, O_RDONLY } = constants;
  let file: number;
  try {
    // Not by its name, which may lead elsewhere by now.
    file = openSync(opened, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SubstratError('forbidden', `${shorten(path, 200)} cannot be read: ${code}.`, { cause: error });
  }
  try {
    const page = Buffer.allocUnsafe(PAGE_BYTES);
    let length = 0;
    for (let got = -1; got !== 0 && length < PAGE_BYTES; length += got) {
      got = readSync(file, page, length, PAGE_BYTES - length, offset + length);
    }
    const { size } = fstatSync(file);
    const next = offset + length;
    return { kind: 'file', size, bytes: page.subarray(0, length), nextOffset: next < size ? next : null };
  } finally {
    closeSync(file);
  }
}

/** The same for what is hidden and what is missing. */
function notShown(path: string): SubstratError {
  return new SubstratError('not_found', `There is no file ${shorten(path, 200)} in the workspace.`);
}
