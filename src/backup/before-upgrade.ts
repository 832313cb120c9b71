import { existsSync, statSync } from 'node:fs';
import { makeBackup } from './backup.ts';
import type { HomeLimits } from './home-files.ts';

export interface UpgradeBackup {
  /** The SQLite file whose schema is about to be migrated. */
  readonly path: string;
  readonly from: number;
  readonly home: string;
  readonly limits: HomeLimits;
  readonly version: string;
  readonly onProgress: (line: string) => void;
}

/**
 * Older versions cannot read a newer schema, so this makes it possible to go back. Returns the file, which is next to
 * the store.
 */
export async function backUpBeforeUpgrade({ path, from, ...rest }: UpgradeBackup): Promise<string> {
  const stem = `${path}.schema-${from}`;
  const last = `${stem}.backup.tar.gz`;
  // An earlier upgrade did not happen, and nothing was written since.
  if (isYounger(last, path) && isYounger(last, `${path}-wal`)) return last;
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const file = existsSync(last) ? `${stem}.${stamp}.backup.tar.gz` : last;
  await makeBackup({ file, store: { path }, ...rest });
  return file;
}

function isYounger(file: string, other: string): boolean {
  if (!existsSync(file)) return false;
  return !existsSync(other) || statSync(file).mtimeMs > statSync(other).mtimeMs;
}
