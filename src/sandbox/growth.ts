import { lstatSync, type Stats, type StatsFs, statfsSync } from 'node:fs';
import { opendir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { turnOfOthers } from '../core/turn-of-others.ts';

/** Watches by how much a turn's directories grow. */
export interface Growth {
  /** Given what its processes have written so far. Returns the bytes of the files that changed, if they are too many. */
  look(writtenBytes: number): Promise<number | null>;
}

/** Entries between two yields to the event loop: about a millisecond. */
const AT_ONCE = 200;
const MOST_ENTRIES = 1_000_000;

/**
 * Reading a workspace takes long, so it is only read when the turn may have exceeded the limit: its processes have
 * written that much, or a file system has filled by that much since it began (space can be taken without writing).
 * Then the files that changed since the beginning are counted; their change times cannot be set by a program. If they
 * are too few, the next reading waits until the missing bytes could have been added.
 */
export function watchGrowth(directories: readonly string[], mostBytes: number, begun = Date.now()): Growth {
  const least = new Map(directories.map((directory) => [directory, usedNow(directory)]));
  let threshold = mostBytes;

  /** By how much the file systems have filled since the least that was seen. */
  async function filled(): Promise<number> {
    let most = 0;
    for (const [directory, before] of least) {
      const used = await statfs(directory).then(usedOf, () => before);
      least.set(directory, Math.min(used, before));
      most = Math.max(most, used - before);
    }
    return most;
  }

  return {
    look: async (writtenBytes) => {
      const suspected = Math.max(writtenBytes, await filled());
      if (suspected < threshold) return null;
      const changed = await changedBytes(directories, begun, mostBytes);
      if (changed >= mostBytes) return changed;
      threshold = suspected + mostBytes - changed;
      return null;
    },
  };
}

function usedNow(directory: string): number {
  try {
    return usedOf(statfsSync(directory));
  } catch {
    return 0;
  }
}

function usedOf({ blocks, bfree, bsize }: StatsFs): number {
  return (blocks - bfree) * bsize;
}

/** The space of the files that changed since then. Stops when it is enough. Does not follow links. */
async function changedBytes(directories: readonly string[], since: number, enough: number): Promise<number> {
  const seen = new Set<string>();
  const waiting = [...directories];
  let bytes = 0;
  let entries = 0;
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    for await (const name of namesIn(directory)) {
      if (++entries % AT_ONCE === 0) await turnOfOthers();
      if (entries > MOST_ENTRIES) return bytes;
      const path = join(directory, name);
      const stats = statsOf(path);
      if (!stats) continue;
      if (stats.isDirectory()) waiting.push(path);
      // File systems store times coarsely.
      if (!stats.isFile() || stats.ctimeMs < since - 2_000 || seen.has(`${stats.dev}:${stats.ino}`)) continue;
      if (stats.nlink > 1) seen.add(`${stats.dev}:${stats.ino}`);
      bytes += stats.blocks * 512;
      if (bytes >= enough) return bytes;
    }
  }
  return bytes;
}

/** Some at a time: an agent can fill a directory with millions of names. */
async function* namesIn(directory: string): AsyncGenerator<string> {
  try {
    for await (const { name } of await opendir(directory, { bufferSize: AT_ONCE })) yield name;
  } catch {
    // It is gone, or it may not be read.
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
