import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statfsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { counted } from '../core/text.ts';
import { chunkWords, passageWords } from '../search/search.ts';
import { type Load, openLoad, type Row } from '../store/snapshot.ts';
import { damaged, type ReadEntry, readArchive } from './archive-reader.ts';
import { HOME_FILES, RESTORING, TEAMS } from './layout.ts';
import type { Manifest } from './manifest.ts';
import { StagedFiles } from './stage-files.ts';
import { archiveEntryOf, verifyBackup } from './verify.ts';

export interface RestoreOptions {
  readonly file: string;
  /** Exists and is locked by the caller, so no daemon runs there. */
  readonly home: string;
  /** Replace existing data. */
  readonly force: boolean;
  /** The newest schema that this version supports. */
  readonly newestSchema: number;
  /** Where the store goes. Called once the backup's configuration is in the home. */
  readonly findStore: () => { readonly path: string } | { readonly url: string };
  readonly onProgress: (line: string) => void;
}

export interface Restored {
  readonly manifest: Manifest;
  /** Where the previous data was moved; null if there was none. */
  readonly before: string | null;
}

const MOST_ROW = 256 * 1024 * 1024;

/**
 * Restores a home and its store. The backup is verified completely before anything changes; then everything is staged
 * next to its destination and moved there at the end.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { file, home, force, newestSchema, onProgress } = options;
  const manifest = await verifyBackup(file);
  onProgress(`${file} is complete: a backup of ${manifest.createdAt}`);
  if (manifest.schemaVersion > newestSchema) {
    const message = `The backup has schema version ${manifest.schemaVersion}; this Substrat supports up to ${newestSchema}. Update Substrat.`;
    throw new SubstratError('schema_too_new', message);
  }
  const staging = join(home, RESTORING);
  rmSync(staging, { recursive: true, force: true });
  if (!force) refuseUsed(home);
  checkRoom(home, manifest);
  mkdirSync(staging, { mode: 0o700 });
  const stage = new Stage(options, manifest, staging);
  try {
    const before = await stage.run();
    rmSync(staging, { recursive: true });
    return { manifest, before };
  } catch (error) {
    await stage.undo(error as Error);
    throw error instanceof SubstratError ? error : damaged(file, error as Error);
  }
}

class Stage {
  readonly #options: RestoreOptions;
  readonly #manifest: Manifest;
  readonly #staging: string;
  #load: Load | null = null;
  /** The configuration was copied into the home, so that the store can be located. */
  #configured = false;
  /** What was copied into the home before the store was complete. */
  #copied: string[] = [];
  #database: string | null = null;
  #moving = false;

  constructor(options: RestoreOptions, manifest: Manifest, staging: string) {
    this.#options = options;
    this.#manifest = manifest;
    this.#staging = staging;
  }

  async run(): Promise<string | null> {
    const { home, onProgress, force } = this.#options;
    await this.#stageFiles();
    const own = join(home, 'config.toml');
    if (existsSync(join(this.#staging, 'config.toml')) && !existsSync(own)) {
      await copyFile(join(this.#staging, 'config.toml'), own);
      this.#configured = true;
      const [teams, place] = [join(this.#staging, TEAMS), join(home, TEAMS)];
      this.#copied = [own];
      if (existsSync(teams) && !existsSync(place)) {
        this.#copied.push(place);
        cpSync(teams, place, { recursive: true });
      }
    }
    const where = this.#options.findStore();
    const { path } = 'path' in where ? where : { path: null };
    if (path !== null && existsSync(path) && !force) {
      throw used(`The store ${path} exists already.`);
    }
    this.#database = path && `${path}.restoring`;
    if (this.#database) rmSync(this.#database, { force: true });
    const target = 'url' in where ? where : { path: this.#database as string };
    const load = await openLoad(target, { version: this.#manifest.schemaVersion, replace: force });
    this.#load = load;
    await this.#loadTables(load);
    await load.finish({
      counters: this.#manifest.counters,
      passageWords,
      chunkWords: ({ title, place, text, idx, sourceId }) =>
        chunkWords({ title, headings: place.headings ?? [], text, path: idx === 0 ? sourceId : null }),
      move:
        this.#manifest.home === home ? null : { nodeId: this.#manifest.nodeId, from: this.#manifest.home, to: home },
    });
    await load.commit();
    this.#load = null;
    onProgress('The store is complete');
    this.#moving = true;
    return this.#moveIn(path);
  }

  /** Removes what was staged; existing data stays unchanged. */
  async undo(error: Error): Promise<void> {
    if (this.#moving) {
      const message = `The restore into ${this.#options.home} did not finish: ${error.message}. Run it again with --force.`;
      throw new SubstratError('internal', message, { cause: error });
    }
    await this.#load?.abort();
    if (this.#database) for (const end of ['', '-wal', '-shm']) rmSync(this.#database + end, { force: true });
    for (const path of this.#copied) rmSync(path, { recursive: true, force: true });
    rmSync(this.#staging, { recursive: true, force: true });
  }

  async #stageFiles(): Promise<void> {
    const files = new StagedFiles(this.#staging);
    for await (const entry of readArchive(this.#options.file)) {
      const { kind } = archiveEntryOf(entry);
      if (kind === 'home' || kind === 'own') await files.add(entry);
      // The file may have been replaced since it was verified.
      if (kind === 'manifest') this.#compare(entry);
    }
    files.finish();
    this.#options.onProgress(counted(Object.keys(this.#manifest.homes).length, 'agent home'));
  }

  async #loadTables(load: Load): Promise<void> {
    let current = '';
    for await (const entry of readArchive(this.#options.file)) {
      const part = archiveEntryOf(entry);
      if (part.kind === 'manifest') this.#compare(entry);
      if (part.kind !== 'table') continue;
      const columns = load.tables.get(part.table);
      if (!columns) throw new Error(`it has a table that its schema does not have (${part.table})`);
      for await (const rows of rowsOf(entry, columns)) await load.insert(part.table, rows);
      if (part.table === current) continue;
      current = part.table;
      this.#options.onProgress(`${current}: ${this.#manifest.tables[current]?.rows ?? 0} rows`);
    }
  }

  #compare({ before }: ReadEntry): void {
    const { bytes, sha256 } = this.#manifest.archive;
    if (before.bytes !== bytes || before.sha256 !== sha256) throw new Error('it was changed while it was read');
  }

  /** The only step that touches existing data. If it crashes, RESTORING remains and no daemon starts. */
  #moveIn(database: string | null): string | null {
    const { home } = this.#options;
    const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
    const aside = join(home, `before-restore-${stamp}`);
    const moveAside = (path: string, name: string): void => {
      if (!existsSync(path)) return;
      if (name === 'agents' && readdirSync(path).length === 0) {
        rmdirSync(path);
        return;
      }
      mkdirSync(aside, { recursive: true, mode: 0o700 });
      renameSync(path, join(aside, name));
    };
    for (const name of ['agents', TEAMS, ...HOME_FILES]) {
      const [staged, place] = [join(this.#staging, name), join(home, name)];
      // The existing configuration says where the store is, so it stays; the restored one is put next to it.
      if (name === 'config.toml') {
        if (existsSync(staged) && !this.#configured) renameSync(staged, join(home, 'config.from-backup.toml'));
        continue;
      }
      if (name === TEAMS) {
        const other = join(home, `${TEAMS}.from-backup`);
        if (existsSync(staged) && !this.#configured) {
          moveAside(other, basename(other));
          renameSync(staged, other);
        }
        continue;
      }
      moveAside(place, name);
      if (existsSync(staged)) renameSync(staged, place);
    }
    if (database !== null && this.#database !== null) {
      const old = `${database}.before-restore-${stamp}`;
      for (const end of ['', '-wal', '-shm']) if (existsSync(database + end)) renameSync(database + end, old + end);
      renameSync(this.#database, database);
    }
    return existsSync(aside) ? aside : null;
  }
}

/** The rows of a part in small batches, each checked to have only columns of its table. */
async function* rowsOf({ content, path }: ReadEntry, columns: ReadonlySet<string>): AsyncGenerator<Row[]> {
  let rest = Buffer.alloc(0);
  for await (const piece of content) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const end = all.lastIndexOf(10);
    if (end < 0 && all.length > MOST_ROW) throw new Error(`a row in ${path} is too long`);
    rest = Buffer.from(all.subarray(end + 1));
    if (end >= 0)
      yield all
        .toString('utf8', 0, end)
        .split('\n')
        .map((line) => rowOf(line, path, columns));
  }
  if (rest.length > 0) throw new Error(`${path} ends in the middle of a row`);
}

function rowOf(line: string, path: string, columns: ReadonlySet<string>): Row {
  const row: unknown = JSON.parse(line);
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    throw new Error(`${path} has a line that is not a row`);
  const values = Object.entries(row).map(([column, value]: [string, unknown]): [string, Row[string]] => {
    if (!columns.has(column)) throw new Error(`${path} has a column that its schema does not have (${column})`);
    if (value === null || typeof value === 'string' || typeof value === 'number') return [column, value];
    const { base64 } = value as { base64?: unknown };
    if (typeof base64 !== 'string') throw new Error(`${path} has a value that cannot be stored (${column})`);
    return [column, Buffer.from(base64, 'base64')];
  });
  return Object.fromEntries(values);
}

function refuseUsed(home: string): void {
  const agents = join(home, 'agents');
  const found = ['substrat.db', 'node', 'token'].filter((name) => existsSync(join(home, name)));
  if (existsSync(agents) && readdirSync(agents).length > 0) found.push('agents');
  if (found.length > 0) throw used(`The home ${home} is not empty (${found.join(', ')}).`);
}

function used(what: string): SubstratError {
  const message = `${what} Set SUBSTRAT_HOME to a new directory, or add --force to move the existing files aside.`;
  return new SubstratError('conflict', message);
}

/** The archive's unpacked size is an upper bound for the restored size. */
function checkRoom(home: string, { archive }: Manifest): void {
  const { bavail, bsize } = statfsSync(home);
  if (bavail * bsize > archive.bytes) return;
  const needed = `${Math.ceil(archive.bytes / 1024 ** 2)} MiB`;
  throw new SubstratError('bad_request', `Not enough space on the disk of ${home}: the backup needs about ${needed}.`);
}
