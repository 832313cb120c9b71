import Database from 'better-sqlite3';
import { NEWEST_SCHEMA } from './migrate.ts';
import { versionOf } from './sqlite-version.ts';
import { describeWalDamage, findWalDamage } from './wal.ts';

export interface StoreCheck {
  /** 0 if no daemon has used it yet. */
  readonly version: number;
  readonly newest: number;
  /** What is damaged, or null. */
  readonly damage: string | null;
  /** Living agents that belong to a node other than the given one. */
  readonly strangers: number;
}

/** Inspects a SQLite store without changing it. `idle`: no daemon uses it, so its log does not change. */
export function checkStore(path: string, { nodeId, idle }: { nodeId: string; idle: boolean }): StoreCheck {
  // Before SQLite opens it and discards what it cannot read.
  const lost = idle ? findWalDamage(path) : null;
  const database = new Database(path, { readonly: true, timeout: 1000 });
  try {
    const checked = database.pragma('quick_check(1)', { simple: true }) as string;
    const damage = checked === 'ok' ? lost && describeWalDamage(path, lost) : checked;
    const version = versionOf(database);
    const count = 'select count(*) from agents where terminated_at is null and node_id <> ?';
    const strangers = version === 0 || checked !== 'ok' ? 0 : (database.prepare(count).pluck().get(nodeId) as number);
    return { version, newest: NEWEST_SCHEMA, damage, strangers };
  } finally {
    database.close();
  }
}

/** Whether a SQLite store never had an agent; false if that is unknown, as for a missing file. */
export function hasNoAgents(path: string): boolean {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true, timeout: 1000 });
    try {
      return versionOf(database) > 0 && database.prepare('select 1 from agents limit 1').get() === undefined;
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}
