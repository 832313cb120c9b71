import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { namesIn } from '../core/names-in.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_FILES = 2_000;
/** Directories and links count, too: looking at them takes time. */
const MAX_ENTRIES = 2 * MAX_FILES;
const MAX_DEPTH = 16;

/**
 * Copies the regular files and directories of a tree that others may be changing. Symlinks are skipped, and none is
 * followed even if one replaces a directory meanwhile: each directory is held open while it is read. One entry at a time:
 * the tree may be as large as the limits.
 */
export async function copyTree(from: string, to: string): Promise<void> {
  const left = { bytes: MAX_BYTES, files: MAX_FILES, entries: MAX_ENTRIES };
  const tooLarge = () => new SubstratError('too_large', `${from} has more than ${MAX_FILES} files or 10 MiB.`);

  async function copyDirectory(held: FileHandle, target: string, depth: number): Promise<void> {
    await mkdir(target, { recursive: true, mode: 0o700 });
    const here = `/proc/self/fd/${held.fd}`;
    const names = namesIn(here, left.entries);
    left.entries -= names.length;
    if (depth > MAX_DEPTH || left.entries < 0) throw tooLarge();
    for (const name of names) await copyEntry(join(here, name), join(target, name), depth);
  }

  async function copyEntry(source: string, target: string, depth: number): Promise<void> {
    const held = await tryOpen(source);
    if (!held) return;
    try {
      const stats = await held.stat();
      if (stats.isDirectory()) await copyDirectory(held, target, depth + 1);
      if (stats.isFile()) await copyFile(held, target, stats.mode);
    } finally {
      await held.close();
    }
  }

  async function copyFile(held: FileHandle, target: string, mode: number): Promise<void> {
    // It may grow while it is read.
    const buffer = Buffer.alloc(Math.min((await held.stat()).size, left.bytes) + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size < buffer.length; size += read) {
      read = (await held.read(buffer, size, buffer.length - size)).bytesRead;
    }
    left.bytes -= size;
    left.files -= 1;
    if (left.bytes < 0 || left.files < 0) throw tooLarge();
    await writeFile(target, buffer.subarray(0, size), { mode: 0o600 | (mode & 0o100) });
  }

  const held = await open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await copyDirectory(held, to, 0);
  } finally {
    await held.close();
  }
}

/** Null for a symlink, a socket, and what has been deleted since it was listed. */
async function tryOpen(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
