import { closeSync, existsSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type Database from 'better-sqlite3';
import { SubstratError } from '../core/errors.ts';
import type { StoreLog } from './store.ts';

const LOOK_MS = 1_000;
const PAGE_SIZE_AT = 16;
const PAGE_COUNT_AT = 28;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;
/** In the index of the log: its frames, and how many of them are copied into the file. */
const FRAMES_AT = 16;
const BACKFILLED_AT = 96;

type Kind = 'deleted' | 'replaced' | 'truncated';

/**
 * Checks every second that the files of an open SQLite store are still those that were opened. SQLite does not
 * notice: it keeps writing to files that nobody can open any more. Files are checked by name, and through descriptors
 * that stay open as long as the store: closing one would drop SQLite's locks on the same file.
 */
export class StoreFile {
  problem: string | null = null;
  readonly #path: string;
  readonly #log: StoreLog | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #database: number;
  /** The log and its index. */
  readonly #journal: { readonly log: number; readonly index: number } | null;
  readonly #opened: ReadonlyMap<string, Stats>;
  /** What was too short at the last check: a checkpoint of another process may be running. */
  #suspect = '';
  #kind: Kind | null = null;
  #looking: Promise<void> | null = null;

  constructor(path: string, log: StoreLog | undefined) {
    this.#path = path;
    this.#log = log;
    // On a file system without shared memory, SQLite uses another journal, which comes and goes.
    const files = ['', '-wal', '-shm'].map((end) => path + end).filter((file) => existsSync(file));
    this.#opened = new Map(files.map((file) => [file, statSync(file)]));
    this.#database = openSync(path, 'r');
    this.#journal =
      files.length === 3 ? { log: openSync(`${path}-wal`, 'r'), index: openSync(`${path}-shm`, 'r') } : null;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when it does not look at the files. */
  async settled(): Promise<void> {
    await this.#looking;
  }

  /** Call it after SQLite has closed its files. */
  close(): void {
    closeSync(this.#database);
    if (this.#journal === null) return;
    closeSync(this.#journal.log);
    closeSync(this.#journal.index);
  }

  /** Copies what was written to unlinked files to a new file. The connection stays open, because the process ends. */
  rescue(database: Database.Database): void {
    if (this.#kind === 'truncated') return;
    const copy = `${this.#path}.rescued-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    try {
      database.prepare('vacuum into ?').run(copy);
      this.problem = `${this.problem} The data up to that point was saved to ${copy}.`;
      this.#log?.warn({ copy }, 'the store was saved to another file');
    } catch (error) {
      this.#log?.warn({ error: (error as Error).message }, 'the store could not be saved to another file');
    }
  }

  /**
   * Throws if the log was truncated. Called with the write lock held, when nobody else changes the log: a checkpoint
   * that follows would copy what is missing as zeros into the file and hide the loss.
   */
  checkLog(): void {
    if (this.#journal === null || !this.#isLogShort(this.#journal)) return;
    this.#conclude({ kind: 'truncated', file: `${this.#path}-wal` });
    throw new SubstratError('store', this.problem as string);
  }

  async #look(): Promise<void> {
    this.#conclude((await this.#findLost()) ?? (await this.#findShort().catch(() => null)));
  }

  #conclude(found: { readonly kind: Kind; readonly file: string } | null): void {
    if (found === null && this.#kind === 'truncated') return; // a truncated file stays truncated
    const kind = found?.kind ?? null;
    if (kind === this.#kind) return;
    this.#kind = kind;
    this.problem =
      found &&
      `The store file ${found.file} was ${found.kind} while the daemon was running. Writing has stopped. Stop the daemon, then put the file back or restore a backup.`;
    if (found) this.#log?.warn({ file: found.file }, this.problem as string);
    else this.#log?.info({ file: this.#path }, 'the store file is back; writing continues');
  }

  async #findLost(): Promise<{ kind: Kind; file: string } | null> {
    for (const [file, before] of this.#opened) {
      const now = await stat(file).catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? null : before));
      if (now === null) return { kind: 'deleted', file };
      if (now.ino !== before.ino || now.dev !== before.dev) return { kind: 'replaced', file };
    }
    return null;
  }

  /** Shorter than its header says, twice in a row, so nobody is writing it. The log without its own header counts too. */
  async #findShort(): Promise<{ kind: Kind; file: string } | null> {
    const wal = `${this.#path}-wal`;
    const [main, log] = await Promise.all([stat(this.#path), stat(wal)]).catch(() => [null, null]);
    if (!main || !log) return null;
    const short =
      main.size < this.#expectedSize() && !this.#isPartlyCheckpointed()
        ? { file: this.#path, mark: `${main.size} ${main.mtimeMs}` }
        : this.#journal !== null && this.#isLogShort(this.#journal)
          ? { file: wal, mark: `${log.size} ${saltsOf(this.#journal.log).toString('hex')}` }
          : null;
    const mark = short && `${short.file} ${short.mark}`;
    const again = mark === this.#suspect;
    this.#suspect = mark ?? '';
    return short && again ? { kind: 'truncated', file: short.file } : null;
  }

  #expectedSize(): number {
    const header = Buffer.alloc(100);
    // An empty file has no header; the store had one.
    if (readSync(this.#database, header, 0, header.length, 0) < header.length) return Number.POSITIVE_INFINITY;
    return pageSizeOf(header) * header.readUInt32BE(PAGE_COUNT_AT);
  }

  /**
   * A checkpoint beside readers skips pages that were written again after the readers began: the file can be shorter
   * than its header says, and the rest is in the log.
   */
  #isPartlyCheckpointed(): boolean {
    if (this.#journal === null) return false;
    const header = Buffer.alloc(BACKFILLED_AT + 4);
    if (readSync(this.#journal.index, header, 0, header.length, 0) < header.length) return false;
    const words = new Uint32Array(header.buffer, header.byteOffset, header.length / 4);
    const [frames = 0, copied = 0] = [words[FRAMES_AT / 4], words[BACKFILLED_AT / 4]];
    return copied > 0 && copied < frames;
  }

  #isLogShort({ log, index }: { readonly log: number; readonly index: number }): boolean {
    const { logSize, salts } = readIndex(index);
    return logSize > 0 && (fstatSync(log).size < logSize || !saltsOf(log).equals(salts));
  }
}

/** The index of the log, in the machine's byte order: the last committed frame and the salts of the log. */
function readIndex(index: number): { readonly logSize: number; readonly salts: Buffer } {
  const header = Buffer.alloc(40);
  const salts = header.subarray(32);
  if (readSync(index, header, 0, header.length, 0) < header.length) return { logSize: 0, salts };
  const frames = new Uint32Array(header.buffer, header.byteOffset, 10)[4] ?? 0;
  const pageSize = new Uint16Array(header.buffer, header.byteOffset, 20)[7] ?? 0;
  const size = pageSize === 1 ? 65_536 : pageSize;
  return { logSize: frames === 0 ? 0 : WAL_HEADER + frames * (size + FRAME_HEADER), salts };
}

/** What the header of the log says; zeros where it has none. */
function saltsOf(log: number): Buffer {
  const header = Buffer.alloc(WAL_HEADER);
  readSync(log, header, 0, WAL_HEADER, 0);
  return header.subarray(16, 24);
}

function pageSizeOf(header: Buffer): number {
  const size = header.readUInt16BE(PAGE_SIZE_AT);
  return size === 1 ? 65_536 : size;
}
