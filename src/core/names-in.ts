import { opendirSync } from 'node:fs';

/**
 * The names in a directory, at most one more than `most`: an agent can fill a directory with millions of names, and
 * reading them all would block the process.
 */
export function namesIn(directory: string, most: number): string[] {
  const opened = opendirSync(directory, { bufferSize: 1_000 });
  try {
    const names: string[] = [];
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
      names.push(entry.name);
      if (names.length > most) break;
    }
    return names;
  } finally {
    opened.closeSync();
  }
}
