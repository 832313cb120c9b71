import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';

export interface ReadLimits {
  readonly maxBytes: number;
  /**
   * `refuse`: a symlink is an error. `follow`: symlinks are followed, for files that only their owner can place. With
   * a directory, symlinks are followed if the file itself is in that directory.
   */
  readonly links: 'refuse' | 'follow' | { readonly within: string };
}

/** Why a file was not read. `code` is the system's error code, or `ENOTREG`, `EOUTSIDE` or `E2BIG`. */
export class UnreadableFile extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UnreadableFile';
    this.code = code;
  }
}

/**
 * Reads a file that controls Substrat: configuration, instructions, scripts, ignore rules. An agent or a repository
 * may have replaced it, so it is opened without blocking, and only a regular file of at most `maxBytes` is read.
 * Throws `UnreadableFile`; its message completes a sentence that starts with the file's name.
 */
export function readRegularFile(path: string, { maxBytes, links }: ReadLimits): Buffer {
  const file = open(path, links === 'refuse');
  try {
    // Reading a FIFO, a socket, a device or a directory could block, never end, or have side effects.
    if (!fstatSync(file).isFile()) throw new UnreadableFile('ENOTREG', 'it is not a regular file');
    if (typeof links === 'object' && !isWithin(links.within, file, path)) {
      throw new UnreadableFile('EOUTSIDE', `it is a symbolic link that points outside ${links.within}`);
    }
    return readAll(file, maxBytes);
  } catch (error) {
    throw unreadable(error);
  } finally {
    closeSync(file);
  }
}

export function readRegularText(path: string, limits: ReadLimits): string {
  return readRegularFile(path, limits).toString('utf8');
}

function open(path: string, refuseLinks: boolean): number {
  const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  try {
    return openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (refuseLinks ? O_NOFOLLOW : 0));
  } catch (error) {
    throw unreadable(error);
  }
}

/** Checks the location of the opened file, not of its path, which may have changed since. */
function isWithin(directory: string, file: number, path: string): boolean {
  const real = process.platform === 'linux' ? readlinkSync(`/proc/self/fd/${file}`) : realpathSync(path);
  return real.startsWith(`${realpathSync(directory).replace(/\/$/, '')}/`);
}

/**
 * Reads an open file to its end. Counts the bytes read, because the system may report size 0 for an endless file, as
 * in /proc, and a file may grow while it is read.
 */
export function readAll(file: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  for (let size = 0; ; ) {
    const read = readSync(file, space, 0, Math.min(space.length, maxBytes + 1 - size), null);
    if (read === 0) return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    size += read;
    if (size > maxBytes) throw new UnreadableFile('E2BIG', `it has more than ${maxBytes} bytes`);
    chunks.push(Buffer.from(space.subarray(0, read)));
  }
}

/** Shared by all reads: for a file of typical size, a new buffer costs more than the read. */
const space = Buffer.allocUnsafeSlow(65_536);

function unreadable(error: unknown): UnreadableFile {
  if (error instanceof UnreadableFile) return error;
  const code = String((error as NodeJS.ErrnoException).code ?? 'unknown error');
  return new UnreadableFile(code, PROBLEMS[code] ?? `it cannot be read (${code})`, { cause: error });
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ELOOP: 'it is a symbolic link',
  // open() fails with this for a socket; a FIFO without a writer opens.
  ENXIO: 'it is not a regular file',
};
