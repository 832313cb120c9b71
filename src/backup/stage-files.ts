import { closeSync, fchmodSync, futimesSync, mkdirSync, openSync, realpathSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadEntry } from './archive-reader.ts';

/** Symlinks are held in memory until all files are written; this is their maximum number. */
const MOST_LINKS = 500_000;

/**
 * Writes the files of a backup into a new directory. It contains no symlinks while files are written, so no file can
 * be redirected. Symlinks come last, each into a directory whose real path is checked.
 */
export class StagedFiles {
  readonly #root: string;
  readonly #links: { path: string; link: string }[] = [];

  constructor(root: string) {
    this.#root = realpathSync(root);
  }

  async add(entry: ReadEntry): Promise<void> {
    if (entry.type === 'link') {
      if (this.#links.length >= MOST_LINKS) throw new Error('the archive has too many links');
      this.#links.push({ path: entry.path, link: entry.link });
      return;
    }
    const place = this.#place(entry.path);
    if (entry.type === 'directory') {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      return;
    }
    mkdirSync(parentOf(place), { recursive: true, mode: 0o700 });
    const file = openSync(place, 'wx', 0o600);
    try {
      for await (const piece of entry.content) for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
      fchmodSync(file, entry.mode & 0o777);
      futimesSync(file, entry.mtime, entry.mtime);
    } finally {
      closeSync(file);
    }
  }

  finish(): void {
    for (const { path, link } of this.#links) {
      const place = this.#place(path);
      const parent = parentOf(place);
      // The directory was created with the files; creating it now could follow a symlink.
      if (!realpathSync(parent, { encoding: 'buffer' }).equals(parent))
        throw new Error(`${path} is behind a symbolic link`);
      symlinkSync(Buffer.from(link, 'latin1'), place);
    }
  }

  #place(path: string): Buffer {
    return Buffer.concat([Buffer.from(join(this.#root, '/')), Buffer.from(path, 'latin1')]);
  }
}

function parentOf(place: Buffer): Buffer {
  return place.subarray(0, place.lastIndexOf('/'));
}
