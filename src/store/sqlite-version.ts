import type Database from 'better-sqlite3';

/** The table with the version of the schema. */
export const VERSION = 'schema_version';

/** 0 for a file that Substrat has not written. */
export function versionOf(database: Database.Database): number {
  const known = database.prepare(`select 1 from sqlite_schema where name = '${VERSION}'`).get();
  return Number((known && database.prepare(`select version from ${VERSION}`).pluck().get()) ?? 0);
}
