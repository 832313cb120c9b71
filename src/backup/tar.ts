/** Headers of a tar archive (POSIX ustar, with pax records for long names): what `tar -tvzf` and every other tar reads. */

export const BLOCK = 512;

export type EntryType = 'file' | 'directory' | 'link';

/** File names are bytes on Linux: in these strings each character is one byte (latin1). */
export interface Entry {
  readonly type: EntryType;
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  /** Seconds. */
  readonly mtime: number;
  /** The target of a symlink; empty for others. */
  readonly link: string;
}

const FLAGS: Readonly<Record<EntryType, string>> = { file: '0', directory: '5', link: '2' };
const MOST_NAME = 100;

/** The header blocks of an entry. */
export function encodeHeader(entry: Entry): Buffer {
  const records: [string, string][] = [];
  if (entry.path.length > MOST_NAME) records.push(['path', entry.path]);
  if (entry.link.length > MOST_NAME) records.push(['linkpath', entry.link]);
  const own = block({ ...entry, flag: FLAGS[entry.type] });
  if (records.length === 0) return own;
  const pax = Buffer.concat(records.map(([key, value]) => paxRecord(key, value)));
  const before = block({ path: 'pax', link: '', mode: 0o600, size: pax.length, mtime: entry.mtime, flag: 'x' });
  return Buffer.concat([before, pax, padding(pax.length), own]);
}

/** Padding for the last block of an entry. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

export interface Header extends Omit<Entry, 'type'> {
  readonly flag: string;
}

/** Returns null for a block of zeros, which ends an archive. Throws if it is not a header. */
export function decodeHeader(bytes: Buffer): Header | null {
  if (bytes.every((byte) => byte === 0)) return null;
  const expected = octal(bytes, 148, 8);
  let sum = 8 * 32;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += bytes[i] as number;
  if (sum !== expected) throw new Error('a header of the archive is damaged');
  const prefix = text(bytes, 345, 155);
  const name = text(bytes, 0, 100);
  return {
    flag: String.fromCharCode(bytes[156] as number),
    path: prefix === '' ? name : `${prefix}/${name}`,
    link: text(bytes, 157, 100),
    mode: octal(bytes, 100, 8) & 0o777,
    size: octal(bytes, 124, 12),
    mtime: octal(bytes, 136, 12),
  };
}

/** `path` and `linkpath` of a pax header; other records are ignored. */
export function decodePax(bytes: Buffer): { readonly path?: string; readonly link?: string } {
  const found: { path?: string; link?: string } = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString('latin1', at, space));
    if (space < 0 || !Number.isInteger(length) || length < 5 || at + length > bytes.length) {
      throw new Error('a header of the archive is damaged');
    }
    const [, key, value] = /^(\w+)=(.*)\n$/s.exec(bytes.toString('latin1', space + 1, at + length)) ?? [];
    if (key === 'path') found.path = value as string;
    if (key === 'linkpath') found.link = value as string;
    at += length;
  }
  return found;
}

function block(entry: Header): Buffer {
  const bytes = Buffer.alloc(BLOCK);
  bytes.write(entry.path.slice(0, MOST_NAME), 0, 'latin1');
  bytes.write(`${entry.mode.toString(8).padStart(7, '0')}\0`, 100, 'latin1');
  bytes.write('0000000\0', 108, 'latin1');
  bytes.write('0000000\0', 116, 'latin1');
  bytes.write(`${entry.size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  bytes.write(`${Math.max(0, entry.mtime).toString(8).padStart(11, '0')}\0`, 136, 'latin1');
  bytes.write('        ', 148, 'latin1');
  bytes.write(entry.flag, 156, 'latin1');
  bytes.write(entry.link.slice(0, MOST_NAME), 157, 'latin1');
  bytes.write('ustar\x0000', 257, 'latin1');
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}

/** `LENGTH key=value\n`, where the length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.from(`${length}${rest}`, 'latin1');
}

function text(bytes: Buffer, start: number, length: number): string {
  const end = bytes.indexOf(0, start);
  return bytes.toString('latin1', start, end < 0 ? start + length : Math.min(end, start + length));
}

function octal(bytes: Buffer, start: number, length: number): number {
  const digits = text(bytes, start, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new Error('a header of the archive is damaged');
  return Number.parseInt(digits || '0', 8);
}
