import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { readRegularFile } from '../core/regular-file.ts';
import { counted } from '../core/text.ts';
import { openSnapshot, type Row, type Snapshot } from '../store/snapshot.ts';
import { type ArchiveWriter, createArchive } from './archive-writer.ts';
import { type HomeLimits, homeFiles } from './home-files.ts';
import { HOME_FILE_BYTES, HOME_FILES, TEAM_FILE, TEAMS } from './layout.ts';
import { createManifest, MANIFEST, type Manifest } from './manifest.ts';
import type { Entry } from './tar.ts';

export interface BackupOptions {
  readonly file: string;
  readonly home: string;
  readonly store: { readonly path: string } | { readonly url: string };
  readonly limits: HomeLimits;
  readonly version: string;
  readonly onProgress: (line: string) => void;
}

const AGENT_ID = /^[0-9a-f-]{36}$/;
/** A table is split into files of about this size, which bounds memory. */
const PART = 1024 * 1024;
const MOST_LISTED = 1_000;

/**
 * Writes a whole home into one file that either engine can restore: a tar of JSON lines and files. The store is read
 * from one snapshot on a separate connection, so a running daemon continues. Workspaces are only listed.
 */
export async function makeBackup(options: BackupOptions): Promise<Manifest> {
  const { file, home } = options;
  if (existsSync(file)) throw new SubstratError('bad_request', `${file} exists already; choose a new file.`);
  const snapshot = await openSnapshot(options.store);
  try {
    if (snapshot.version === 0) throw new SubstratError('not_found', 'The store is empty; nothing to back up.');
    const archive = await createArchive(file);
    try {
      const manifest = await fill(archive, snapshot, options);
      await archive.close();
      return manifest;
    } catch (error) {
      await archive.abort();
      throw error instanceof SubstratError ? error : notWritten(home, error as Error);
    }
  } finally {
    await snapshot.close();
  }
}

async function fill(archive: ArchiveWriter, snapshot: Snapshot, options: BackupOptions): Promise<Manifest> {
  const { home, version, limits, onProgress } = options;
  const createdAt = new Date();
  const mtime = Math.floor(createdAt.getTime() / 1000);
  const tables: Manifest['tables'] = {};
  let workspaces: Manifest['workspaces'] = [];
  for (const table of snapshot.tables) {
    // Yield to other work in this process.
    await new Promise((resolve) => setImmediate(resolve));
    const seen: Row[] = [];
    tables[table] = await addTable(archive, snapshot, table, mtime, table === 'workspaces' ? seen : null);
    if (table === 'workspaces')
      workspaces = seen.filter(({ deleted_at }) => deleted_at === null).map(describeWorkspace);
    if (tables[table].rows > 0) onProgress(`${table}: ${tables[table].rows} rows`);
  }
  for (const name of HOME_FILES) {
    const content = readOwn(join(home, name));
    if (content) await archive.add(plainEntry(name, content.length, mtime), content);
  }
  const teams = join(home, TEAMS);
  for (const name of existsSync(teams) ? readdirSync(teams).sort() : []) {
    const content = TEAM_FILE.test(name) ? readOwn(join(teams, name)) : null;
    if (content) await archive.add(plainEntry(`${TEAMS}/${name}`, content.length, mtime), content);
  }
  const skipped: Manifest['skipped'] = { count: 0, listed: [] };
  const skip = (path: string, reason: string): void => {
    skipped.count += 1;
    if (skipped.listed.length < MOST_LISTED) skipped.listed.push({ path: printable(path), reason });
  };
  const homes = await addHomes(archive, home, limits, skip);
  onProgress(counted(Object.keys(homes).length, 'agent home'));
  const manifest = createManifest({
    substrat: version,
    createdAt: createdAt.toISOString(),
    engine: snapshot.engine,
    schemaVersion: snapshot.version,
    nodeId: readOwn(join(home, 'node'))?.toString().trim() ?? '',
    home,
    tables,
    counters: [...snapshot.counters],
    homes,
    workspaces,
    skipped,
    archive: archive.digest(),
  });
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  await archive.add(plainEntry(MANIFEST, text.length, mtime), text);
  return manifest;
}

/** `tables/NAME/000001.jsonl` and so on, one row per line. */
async function addTable(
  archive: ArchiveWriter,
  snapshot: Snapshot,
  table: string,
  mtime: number,
  seen: Row[] | null,
): Promise<{ rows: number; sha256: string }> {
  const hash = createHash('sha256');
  let rows = 0;
  let part = 0;
  let lines: Buffer[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    part += 1;
    const content = Buffer.concat(lines);
    lines = [];
    size = 0;
    hash.update(content);
    const path = `tables/${table}/${String(part).padStart(6, '0')}.jsonl`;
    await archive.add(plainEntry(path, content.length, mtime), content);
  };
  for await (const page of snapshot.rows(table)) {
    for (const row of page) {
      seen?.push(row);
      const line = Buffer.from(`${JSON.stringify(row, asText)}\n`);
      lines.push(line);
      size += line.length;
      rows += 1;
      if (size >= PART) await flush();
    }
  }
  if (lines.length > 0) await flush();
  return { rows, sha256: hash.digest('hex') };
}

async function addHomes(
  archive: ArchiveWriter,
  home: string,
  limits: HomeLimits,
  skip: (path: string, reason: string) => void,
): Promise<Manifest['homes']> {
  const homes: Manifest['homes'] = {};
  const agents = join(home, 'agents');
  for (const id of existsSync(agents) ? readdirSync(agents).sort() : []) {
    if (!AGENT_ID.test(id)) continue;
    const count = { entries: 0, bytes: 0 };
    for (const { entry, pieces } of homeFiles(join(agents, id, 'home'), `agents/${id}/home`, limits, skip)) {
      await archive.addPieces(entry, pieces);
      count.entries += 1;
      count.bytes += entry.size;
    }
    if (count.entries > 0) homes[id] = count;
  }
  return homes;
}

/** Encodes bytes, such as vectors, for JSON. */
function asText(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const own = this[key];
  return own instanceof Uint8Array ? { base64: Buffer.from(own).toString('base64') } : value;
}

function describeWorkspace({ name, path, node_id }: Row): Manifest['workspaces'][number] {
  return { name: String(name), path: String(path), nodeId: String(node_id) };
}

function plainEntry(path: string, size: number, mtime: number): Entry {
  return { type: 'file', path, mode: 0o600, size, mtime, link: '' };
}

function readOwn(path: string): Buffer | null {
  return existsSync(path) ? readRegularFile(path, { maxBytes: HOME_FILE_BYTES, links: 'follow' }) : null;
}

/** File names are bytes; decoded as UTF-8 for display, if valid. */
function printable(path: string): string {
  return Buffer.from(path, 'latin1').toString();
}

function notWritten(home: string, error: Error): SubstratError {
  return new SubstratError('internal', `The home ${home} could not be backed up: ${error.message}.`, { cause: error });
}
