import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

const SETTLE_MS = 50;

/** Reports that one of the files may have changed. Watches their directories, because editors replace files. */
export function watchFiles(changed: () => void): { follow(files: readonly string[]): void; close(): void } {
  const watchers = new Map<string, FSWatcher>();
  let names = new Map<string, Set<string>>();
  let timer: NodeJS.Timeout | undefined;

  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE_MS).unref();
  };
  const open = (directory: string) => {
    try {
      const watcher = watch(directory, { persistent: false }, (_, name) => {
        if (name === null || names.get(directory)?.has(name)) later();
      });
      watcher.on('error', () => watchers.delete(directory));
      watchers.set(directory, watcher);
    } catch {
      // The directory does not exist; the next reload checks again.
    }
  };

  return {
    follow(files) {
      names = new Map();
      for (const file of files) {
        const directory = dirname(file);
        names.set(directory, (names.get(directory) ?? new Set()).add(basename(file)));
      }
      for (const [directory, watcher] of watchers) {
        if (names.has(directory)) continue;
        watcher.close();
        watchers.delete(directory);
      }
      for (const directory of names.keys()) if (!watchers.has(directory)) open(directory);
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}
