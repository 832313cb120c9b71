import { copyFileSync, existsSync } from 'node:fs';
import { backUpBeforeUpgrade } from '../backup/before-upgrade.ts';
import { unusable } from '../config/home.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { describeWalDamage, findWalDamage } from '../store/wal.ts';
import type { Home } from './home.ts';
import type { Node } from './node.ts';
import { checkRememberedStore, rememberStore } from './remembered-store.ts';

export interface StoreStart extends Pick<Node, 'config' | 'log'> {
  readonly version: string;
  /** Uses the configured store from now on, even if the home remembers another one. */
  readonly switchStore?: boolean;
}

/** Opens the daemon's store. Calls `tell` with notices for the owner. */
export async function openStoreOf(
  { path: home }: Home,
  { config, switchStore, log, version }: StoreStart,
  tell: (notice: string) => void,
): Promise<Store> {
  // The home remembers its store: in another store, all agents would seem to be gone.
  if (!switchStore) checkRememberedStore(home, config);
  const path = 'path' in config.db && config.db.path !== ':memory:' ? config.db.path : null;
  if (path !== null) tellOfDamage(path, tell);
  const store = await openStore(config.db, {
    log,
    watch: true,
    threads: true,
    beforeUpgrade: async (from) => {
      log.info({ from }, 'backing up the store before the migration');
      const onProgress = (line: string) => log.info({}, line);
      const file = await backUpBeforeUpgrade({
        path: path as string,
        from,
        home,
        limits: config.backup,
        version,
        onProgress,
      });
      tell(`The store had schema version ${from}. It was backed up to ${file} before the migration.`);
    },
  });
  try {
    rememberStore(home, config);
    return store;
  } catch (error) {
    await store.close();
    throw unusable(home, error);
  }
}

/** Reports a damaged log and copies it. Must run before SQLite opens the store, which silently drops broken frames. */
function tellOfDamage(path: string, tell: (notice: string) => void): void {
  const damage = findWalDamage(path);
  if (damage === null) return;
  const copy = `${path}-wal.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  const kept = existsSync(copy) ? '' : ` A copy of the log is in ${copy}.`;
  copyFileSync(`${path}-wal`, copy);
  tell(`${describeWalDamage(path, damage)}${kept}`);
}
