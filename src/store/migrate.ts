import { SubstratError } from '../core/errors.ts';
import { heart } from './migrations/0001-heart.ts';
import { door } from './migrations/0002-door.ts';
import type { Execute } from './query.ts';

/** In order; a migration that has landed is never edited. */
const migrations: readonly string[] = [heart, door];

/** Brings the schema up to date. The caller holds the store's write lock in an open transaction. */
export async function migrate(execute: Execute): Promise<void> {
  await execute('create table if not exists schema_version (version integer not null)', []);
  const { rows } = await execute('select version from schema_version', []);
  const version = (rows[0] as { version: number } | undefined)?.version ?? 0;
  if (version > migrations.length) {
    throw new SubstratError(
      'schema_too_new',
      `The store has schema version ${version}, this Substrat knows ${migrations.length}. Update Substrat, or open another store.`,
    );
  }
  if (version === migrations.length) return;
  for (const migration of migrations.slice(version)) {
    for (const statement of migration.split(/;\s*\n/)) {
      if (statement.trim()) await execute(statement, []);
    }
  }
  await execute('delete from schema_version', []);
  await execute(`insert into schema_version (version) values (${migrations.length})`, []);
}
