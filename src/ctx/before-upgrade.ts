import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';

/** The same backup that a daemon makes before it migrates a SQLite file; its path is printed on stderr. */
export function beforeUpgrade({ db, backup: limits }: Config, version: string): (from: number) => Promise<void> {
  return async (from) => {
    if (!('path' in db) || db.path === ':memory:') return;
    const { path } = db;
    const { backUpBeforeUpgrade } = await import('../backup/before-upgrade.ts');
    const file = await backUpBeforeUpgrade({ path, from, home: dirname(path), limits, version, onProgress: () => {} });
    process.stderr.write(
      `ctx: ${path} had schema version ${from}. It was backed up to ${file} before the migration.\n`,
    );
  };
}
