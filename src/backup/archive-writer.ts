import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { SubstratError } from '../core/errors.ts';
import { BLOCK, type Entry, encodeHeader, padding } from './tar.ts';

export interface ArchiveWriter {
  add(entry: Entry, content: Uint8Array): Promise<void>;
  /** Adds content in pieces; their total length must equal the declared size. */
  addPieces(entry: Entry, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Size and SHA-256 of the tar so far. */
  digest(): { readonly bytes: number; readonly sha256: string };
  /** After this the file exists and is synced to disk; on failure it does not exist. */
  close(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * A compressed archive that is written next to its final path. Only its owner can read it, because it contains
 * secrets.
 */
export async function createArchive(file: string): Promise<ArchiveWriter> {
  const partial = `${file}.partial-${process.pid}`;
  const handle = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new SubstratError('bad_request', `The backup cannot be written: ${(error as Error).message}.`);
  });
  const output = createWriteStream('', { fd: handle.fd, autoClose: false });
  const gzip = createGzip({ level: 4 });
  const written = finished(gzip.pipe(output));
  written.catch(() => {}); // the next write or close reports it
  let failed: Error | null = null;
  output.on('error', (error) => {
    failed = error;
    gzip.destroy(error);
  });
  gzip.on('error', () => {});
  const hash = createHash('sha256');
  let bytes = 0;
  const write = async (piece: Uint8Array): Promise<void> => {
    if (failed) throw failed;
    hash.update(piece);
    bytes += piece.length;
    if (!gzip.write(piece)) await Promise.race([once(gzip, 'drain'), written]);
  };
  const abort = async (): Promise<void> => {
    gzip.destroy();
    output.destroy();
    await handle.close().catch(() => {});
    await rm(partial, { force: true });
  };
  const addPieces: ArchiveWriter['addPieces'] = async (entry, pieces) => {
    await write(encodeHeader(entry));
    let size = 0;
    for await (const piece of pieces) {
      size += piece.length;
      await write(piece);
    }
    if (size !== entry.size) throw new Error(`${entry.path} has ${size} bytes instead of ${entry.size}`);
    await write(padding(entry.size));
  };
  return {
    add: (entry, content) => addPieces(entry, [content]),
    addPieces,
    digest: () => ({ bytes, sha256: hash.copy().digest('hex') }),
    close: async () => {
      await write(Buffer.alloc(2 * BLOCK));
      gzip.end();
      await written;
      await handle.sync();
      await handle.close();
      await rename(partial, file);
    },
    abort,
  };
}
