import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { storeIdentity, storeName } from '../config/store-name.ts';
import { SubstratError } from '../core/errors.ts';
import { hasNoAgents } from '../store/check.ts';

interface Remembered {
  readonly identity: string;
  /** For error messages: a path, or a URL without its password. */
  readonly store: string;
  /** The configuration that named it; null for the defaults. */
  readonly config: string | null;
}

/**
 * Throws if the home's agents are in another store than the one that the configuration names. A remembered SQLite store
 * without agents is ignored: a start with the wrong configuration may have created it.
 */
export function checkRememberedStore(home: string, { db, file }: Pick<Config, 'db' | 'file'>): void {
  const last = isForgotten(db) ? null : read(home);
  if (last === null || last.identity === storeIdentity(db, home)) return;
  const path = /^\w+:\/\//.test(last.identity) ? null : resolve(home, last.identity);
  if (path !== null && hasNoAgents(path)) return;
  const named = file === null ? 'The defaults name' : `${file} names`;
  const before = last.config === null ? '' : ` (configuration ${last.config})`;
  const again = last.config === null || last.config === file ? '' : `start with \`--config ${last.config}\`, or `;
  throw new SubstratError(
    'config',
    `The home ${home} keeps its agents in the store ${path ?? last.store}${before}. ${named} another one, ${storeName(db)}. To keep using these agents, ${again}set [db] to the first store. To switch to the other store, add \`--switch-store\`; nothing is moved or deleted.`,
  );
}

export function rememberStore(home: string, { db, file }: Pick<Config, 'db' | 'file'>): void {
  if (isForgotten(db)) return;
  const remembered: Remembered = { identity: storeIdentity(db, home), store: storeName(db), config: file };
  const text = `${JSON.stringify(remembered)}\n`;
  const path = placeIn(home);
  if (text === contentOf(path)) return;
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** A store in memory is not remembered: it is lost when the daemon stops. */
function isForgotten(db: Config['db']): boolean {
  return 'path' in db && db.path === ':memory:';
}

function read(home: string): Remembered | null {
  const content = contentOf(placeIn(home));
  try {
    const { identity, store, config = null } = JSON.parse(content ?? '') as Partial<Remembered>;
    return typeof identity === 'string' && typeof store === 'string' ? { identity, store, config } : null;
  } catch {
    return null;
  }
}

function placeIn(home: string): string {
  return join(home, 'store.json');
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
