import { createHash, type Hash } from 'node:crypto';
import { SubstratError } from '../core/errors.ts';
import { damaged, type ReadEntry, readArchive } from './archive-reader.ts';
import { HOME_FILE_BYTES, HOME_FILES, TEAM_FILE, TEAMS } from './layout.ts';
import { MANIFEST, type Manifest, MOST_MANIFEST, parseManifest } from './manifest.ts';

/** The kind of an entry. Any other entry is refused, so an archive cannot write elsewhere. */
export type ArchiveEntry =
  | { readonly kind: 'manifest' }
  | { readonly kind: 'own'; readonly name: string }
  | { readonly kind: 'table'; readonly table: string }
  | { readonly kind: 'home'; readonly agentId: string };

/** The rows of one part are in memory at once. */
const MOST_PART = 256 * 1024 * 1024;
const LINE_FEED = 10;

export function archiveEntryOf({ path, type, size }: Pick<ReadEntry, 'path' | 'type' | 'size'>): ArchiveEntry {
  const refuse = (): never => {
    throw new Error(`the archive has an unexpected entry (${JSON.stringify(path.slice(0, 200))})`);
  };
  if (type === 'file' && path === MANIFEST) return size > MOST_MANIFEST ? refuse() : { kind: 'manifest' };
  if (type === 'file' && isOwn(path)) {
    return size > HOME_FILE_BYTES ? refuse() : { kind: 'own', name: path };
  }
  const [, table] = /^tables\/([a-z_]{1,63})\/\d{6}\.jsonl$/.exec(path) ?? [];
  if (table !== undefined) return type !== 'file' || size > MOST_PART ? refuse() : { kind: 'table', table };
  const [, agentId, rest = ''] = /^agents\/([0-9a-f-]{36})\/home((?:\/[^/]+)*)$/s.exec(path) ?? [];
  if (agentId === undefined || (rest === '' && type !== 'directory')) return refuse();
  if (rest.split('/').some((part) => part === '.' || part === '..' || part.includes('\0'))) return refuse();
  return { kind: 'home', agentId };
}

function isOwn(path: string): boolean {
  const [directory, name = ''] = path.split('/', 2);
  if ((HOME_FILES as readonly string[]).includes(path)) return true;
  return directory === TEAMS && path === `${TEAMS}/${name}` && TEAM_FILE.test(name);
}

/** Reads a backup to its end, compares everything with its manifest, and returns the manifest. Writes nothing. */
export async function verifyBackup(file: string): Promise<Manifest> {
  const seen = new Seen();
  let manifest: Manifest | null = null;
  try {
    for await (const entry of readArchive(file)) {
      if (manifest) throw new Error('it has data after its manifest');
      const part = archiveEntryOf(entry);
      if (part.kind === 'manifest') manifest = seen.compare(parseManifest(await textOf(entry.content)), entry.before);
      else await seen.add(part, entry);
    }
  } catch (error) {
    throw error instanceof SubstratError ? error : damaged(file, error as Error);
  }
  if (!manifest) throw damaged(file, new Error('it does not have a manifest'));
  return manifest;
}

async function textOf(content: AsyncIterable<Buffer, void>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

class Seen {
  readonly #tables = new Map<string, { rows: number; hash: Hash }>();
  readonly #homes = new Map<string, { entries: number; bytes: number }>();

  async add(part: ArchiveEntry, entry: ReadEntry): Promise<void> {
    if (part.kind === 'home') {
      const { entries, bytes } = this.#homes.get(part.agentId) ?? { entries: 0, bytes: 0 };
      this.#homes.set(part.agentId, { entries: entries + 1, bytes: bytes + entry.size });
    }
    if (part.kind !== 'table') return;
    const table = this.#tables.get(part.table) ?? { rows: 0, hash: createHash('sha256') };
    this.#tables.set(part.table, table);
    for await (const piece of entry.content) {
      table.hash.update(piece);
      for (const byte of piece) if (byte === LINE_FEED) table.rows += 1;
    }
  }

  compare(manifest: Manifest, { bytes, sha256 }: { readonly bytes: number; readonly sha256: string }): Manifest {
    if (manifest.archive.bytes !== bytes || manifest.archive.sha256 !== sha256) {
      throw new Error('its checksum is wrong: it was changed or damaged');
    }
    for (const [name, { rows, sha256: expected }] of Object.entries(manifest.tables)) {
      const found = this.#tables.get(name);
      const digest = (found?.hash ?? createHash('sha256')).copy().digest('hex');
      if ((found?.rows ?? 0) !== rows || digest !== expected)
        throw new Error(`the table ${name} does not match its manifest`);
    }
    const unknown = [...this.#tables.keys()].find((name) => manifest.tables[name] === undefined);
    if (unknown !== undefined) throw new Error(`the table ${unknown} is not in its manifest`);
    for (const [id, { entries, bytes: size }] of this.#homes) {
      const expected = manifest.homes[id];
      if (expected?.entries !== entries || expected.bytes !== size)
        throw new Error(`the home of agent ${id} does not match its manifest`);
    }
    return manifest;
  }
}
