import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_FILES = 2_000;
const MAX_DEPTH = 16;

/**
 * Copies the regular files and directories of a tree that others may be changing. Symlinks are skipped, and none is
 * followed even if one replaces a directory meanwhile: each directory is held open while it is read.
 */
export function copyTree(from: string, to: string): void {
  const left = { bytes: MAX_BYTES, files: MAX_FILES };
  const tooLarge = () => new SubstratError('too_large', `${from} has more than ${MAX_FILES} files or 10 MiB.`);

  function copyDirectory(source: string, target: string, depth: number): void {
    if (depth > MAX_DEPTH) throw tooLarge();
    const held = openSync(source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      mkdirSync(target, { recursive: true, mode: 0o700 });
      const here = `/proc/self/fd/${held}`;
      for (const entry of readdirSync(here, { withFileTypes: true })) {
        const [inner, copy] = [join(here, entry.name), join(target, entry.name)];
        if (entry.isDirectory()) skipGone(() => copyDirectory(inner, copy, depth + 1));
        else if (entry.isFile()) skipGone(() => copyFile(inner, copy));
      }
    } finally {
      closeSync(held);
    }
  }

  function copyFile(source: string, target: string): void {
    const held = openSync(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const { mode, size } = fstatSync(held);
      left.bytes -= size;
      left.files -= 1;
      if (left.bytes < 0 || left.files < 0) throw tooLarge();
      writeFileSync(target, readFileSync(held), { mode: 0o600 | (mode & 0o100) });
    } finally {
      closeSync(held);
    }
  }

  copyDirectory(from, to, 0);
}

/** Skips a file that has been deleted or replaced by a symlink since it was listed. */
function skipGone(copy: () => void): void {
  try {
    copy();
  } catch (error) {
    if (!['ENOENT', 'ELOOP', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
