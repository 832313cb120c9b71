import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SubstratError } from '../core/errors.ts';
import type { OldDocument, OldListing, OldStore } from '../core/old-store.ts';
import { versionOf } from './sqlite-version.ts';

/** The tables that tell its store from any other SQLite file. */
const TABLES = ['documents', 'chunks', 'checkpoints', 'chunks_fts', 'chunk_vectors'];

export function isContextHarness(database: Database.Database): boolean {
  if (versionOf(database) > 0) return false;
  const marks = TABLES.map(() => '?').join(', ');
  const found = database.prepare(`select count(*) from sqlite_schema where name in (${marks})`).pluck().get(TABLES);
  return found === TABLES.length;
}

/** Throws `bad_request` if the file is something else. */
export function openContextHarness(path: string): OldStore {
  const database = openReadOnly(path);
  const columns = 'source_id, source_url, title, author, created_at, updated_at, content_type, body, metadata_json';
  const listing = 'source_id, updated_at, content_type, length(cast(body as blob)) as size';
  const statements = {
    sources: database.prepare('select source, count(*) as documents from documents group by source order by source'),
    list: database.prepare(
      `select ${listing} from documents where source = @source and source_id > @after order by source_id limit @limit`,
    ),
    read: database.prepare(`select ${columns} from documents where source = @source and source_id = @sourceId`),
  };
  return {
    sources: () => statements.sources.all() as { source: string; documents: number }[],
    list: (page) => statements.list.all(page) as OldListing[],
    read: (document) => (statements.read.get(document) as OldDocument | undefined) ?? null,
    close: () => void database.close(),
  };
}

function openReadOnly(path: string): Database.Database {
  if (!existsSync(path)) throw new SubstratError('not_found', `${path} does not exist.`);
  let database: Database.Database | null = null;
  try {
    database = new Database(path, { readonly: true, timeout: 5_000 });
    if (isContextHarness(database)) return database;
  } catch (error) {
    database?.close();
    throw new SubstratError('bad_request', `${path} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
  database.close();
  throw new SubstratError('bad_request', `${path} is not a store of Context Harness.`);
}
