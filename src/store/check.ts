import Database from 'better-sqlite3';
import { NEWEST_SCHEMA } from './migrate.ts';
import { versionOf } from './sqlite-version.ts';
import { describeWalDamage, findWalDamage } from './wal.ts';

export interface StoreCheck {
  /** 0 where no daemon has been yet. */
  readonly version: number;
  readonly newest: number;
  /** What is broken; null when nothing is. */
  readonly damage: string | null;
  /** Living agents that belong to another node than the one asked for. */
  readonly strangers: number;
}

/** Looks at a SQLite store without changing it. `idle`: no daemon runs on it, so its log stands still. */
export function checkStore(path: string, { nodeId, idle }: { nodeId: string; idle: boolean }): StoreCheck {
  // Before SQLite opens it, and drops what it cannot read.
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

/** Whether a SQLite store never had an agent; false where that cannot be said, as for a file that is missing. */
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
