import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { SubstratError } from '../core/errors.ts';
import { BLOCK, decodeHeader, decodePax, type Entry, type EntryType } from './tar.ts';

/** An archive is untrusted input: a backup may come from anywhere. */
const MOST_ENTRIES = 5_000_000;
const MOST_PAX = 64 * 1024;
const MOST_PATH = 4096;
const TYPES: Readonly<Record<string, EntryType>> = { '0': 'file', '5': 'directory', '2': 'link' };

export interface ReadEntry extends Entry {
  /** Must be read to its end, or not at all, before the next entry is requested. */
  readonly content: AsyncIterable<Buffer, void>;
  /** Size and hash of all bytes before this entry. */
  readonly before: { readonly bytes: number; readonly sha256: string };
}

/** Yields the entries of a compressed archive in order, with bounded memory. Throws if it is truncated or damaged. */
export async function* readArchive(file: string): AsyncGenerator<ReadEntry> {
  const bytes = new Bytes(file);
  try {
    let long: { path?: string; link?: string } = {};
    for (let count = 0; ; count++) {
      if (count > MOST_ENTRIES) throw new Error('the archive has too many entries');
      const before = bytes.digest();
      const block = await bytes.take(BLOCK);
      const header = decodeHeader(block);
      if (header === null) return await bytes.expectEnd();
      if (header.flag === 'x') {
        if (header.size > MOST_PAX) throw new Error('a header of the archive is too long');
        long = decodePax(await bytes.take(header.size));
        await bytes.skip(paddingOf(header.size));
        continue;
      }
      const type = TYPES[header.flag];
      if (type === undefined) throw new Error(`the archive has an entry of an unknown type (${header.path})`);
      const entry = { ...header, ...long, type };
      long = {};
      if (entry.path.length > MOST_PATH || entry.link.length > MOST_PATH)
        throw new Error('a name in the archive is too long');
      if (type !== 'file' && entry.size !== 0) throw new Error(`${entry.path} has content but is not a file`);
      const content = bytes.pieces(entry.size);
      yield { ...entry, content, before };
      for await (const _ of content); // skip content that was not read
      await bytes.skip(paddingOf(entry.size));
    }
  } catch (error) {
    throw error instanceof SubstratError ? error : damaged(file, error as Error);
  } finally {
    bytes.close();
  }
}

export function damaged(file: string, error: Error): SubstratError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR') {
    return new SubstratError('bad_request', `${file} cannot be read: ${error.message}.`);
  }
  const reason = code === 'Z_BUF_ERROR' ? 'it ends too early' : error.message;
  const message = `${file} is not a complete Substrat backup: ${reason}. Nothing was changed.`;
  return new SubstratError('bad_request', message, { cause: error });
}

/** Reads the unpacked bytes of a file incrementally and hashes them. */
class Bytes {
  readonly #input;
  readonly #chunks: AsyncIterator<Buffer, unknown>;
  readonly #hash: Hash = createHash('sha256');
  #count = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(file: string) {
    this.#input = createReadStream(file, { highWaterMark: 256 * 1024 });
    const unpacked = createGunzip({ chunkSize: 256 * 1024 });
    this.#input.on('error', (error) => unpacked.destroy(error));
    this.#chunks = this.#input.pipe(unpacked)[Symbol.asyncIterator]();
  }

  digest(): { bytes: number; sha256: string } {
    return { bytes: this.#count, sha256: this.#hash.copy().digest('hex') };
  }

  async take(size: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(size)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async skip(size: number): Promise<void> {
    for await (const _ of this.pieces(size));
  }

  async *pieces(size: number): AsyncGenerator<Buffer, void> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) throw new Error('it ends too early');
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      this.#hash.update(piece);
      this.#count += piece.length;
      left -= piece.length;
      yield piece;
    }
  }

  /** Only zeros may follow the end. */
  async expectEnd(): Promise<void> {
    do if (this.#rest.some((byte) => byte !== 0)) throw new Error('it has data after its end');
    while (await this.#more());
  }

  close(): void {
    this.#input.destroy();
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#rest = value;
    return true;
  }
}

function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}
