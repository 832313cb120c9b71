import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { makeBackup } from '../backup/backup.ts';
import { copyStore } from '../backup/copy-store.ts';
import type { Manifest } from '../backup/manifest.ts';
import { type Restored, restoreBackup } from '../backup/restore.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { makeHome } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';
import { compactFile } from '../store/compact.ts';
import { NEWEST_SCHEMA } from '../store/migrate.ts';
import { openStore } from '../store/open.ts';
import { lockHome } from './home.ts';
import { checkRememberedStore, rememberStore } from './remembered-store.ts';

/** Commands that work on a home directly, whether or not its daemon runs. */
interface HomeFiles {
  readonly home: string;
  readonly configFile: string | null;
}

interface HomeOptions extends HomeFiles {
  readonly file: string;
  readonly onProgress: (line: string) => void;
}

/** Works with or without a running daemon. Opens the store in this process, so the daemon does not wait for it. */
export async function backupHome(options: HomeOptions & { readonly version: string }): Promise<Manifest> {
  const { home, file, version, onProgress } = options;
  const config = configOf(options);
  if (!existsSync(home) || ('path' in config.db && !existsSync(config.db.path))) {
    throw new SubstratError('not_found', `Nothing to back up: ${home} does not have a store.`);
  }
  // Another configuration could name another store.
  checkRememberedStore(home, config);
  const limits = config.backup;
  return makeBackup({ file: resolve(file), home: realpathSync(home), store: config.db, limits, version, onProgress });
}

/** Holds the home's lock, so a daemon cannot start on it meanwhile. */
export async function restoreHome(options: HomeOptions & { readonly force: boolean }): Promise<Restored> {
  const { file, force, onProgress } = options;
  makeHome(options.home);
  const home = realpathSync(options.home);
  const lock = lockHome(home);
  try {
    const findStore = () => configOf(options).db;
    const newestSchema = NEWEST_SCHEMA;
    const restored = await restoreBackup({ file: resolve(file), home, force, newestSchema, findStore, onProgress });
    rememberStore(home, configOf(options));
    return restored;
  } finally {
    lock.close();
  }
}

/** Copies the home's SQLite store into a database. The home then expects its agents there. */
export async function copyHomeStore(
  options: HomeFiles & { readonly to: string; readonly onProgress: (line: string) => void },
): Promise<Record<string, number>> {
  const { to, onProgress } = options;
  const config = configOf(options);
  const { db } = config;
  if (!('path' in db)) throw new SubstratError('unsupported', 'The store is a PostgreSQL database already.');
  if (!existsSync(db.path)) throw new SubstratError('not_found', `There is no store at ${db.path}.`);
  checkRememberedStore(options.home, config);
  const home = realpathSync(options.home);
  const lock = lockHome(home);
  try {
    // A store of an older version is migrated first, so that both have the same tables.
    await (await openStore(db)).close();
    const copied = await copyStore({ from: db.path, to, onProgress });
    rememberStore(home, { db: { url: to, pool: 1, directUrl: null, prepared: true }, file: config.file });
    return copied;
  } finally {
    lock.close();
  }
}

/** Works with or without a running daemon. */
export async function compactHome(place: HomeFiles): Promise<{ readonly before: number; readonly after: number }> {
  const config = configOf(place);
  checkRememberedStore(place.home, config);
  if (!('path' in config.db)) {
    const message =
      'The store is a PostgreSQL database, which reuses free space by itself. To return space to the disk, run VACUUM FULL with psql while no daemon is running.';
    throw new SubstratError('unsupported', message);
  }
  if (!existsSync(config.db.path)) throw new SubstratError('not_found', `There is no store at ${config.db.path}.`);
  try {
    return compactFile(config.db.path);
  } catch (error) {
    const message = `The store could not be compacted: ${(error as Error).message}. Nothing was changed.`;
    throw new SubstratError('store', message, { cause: error });
  }
}

function configOf({ home, configFile }: HomeFiles): Config {
  return loadConfig({ ...(configFile && { file: configFile }), cwd: process.cwd(), home, env: process.env });
}
