import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/** What SQLite would silently drop from a write-ahead log. */
export interface WalDamage {
  /** The first broken frame, from 1. */
  readonly frame: number;
  /** Committed transactions after it. */
  readonly lost: number;
}

const HEADER = 32;
const FRAME_HEADER = 24;
/** Layout of the `-shm` file, in the machine's byte order: published frames at 16, the salts of the log at 32. */
const INDEX_HEADER = 48;
const MAGIC_LITTLE = 0x377f0682;
const MAGIC_BIG = 0x377f0683;

/**
 * Reads the write-ahead log of a SQLite file as SQLite does when it recovers: frames count while their salts and the chain of checksums
 * are right. A crash leaves a log that simply ends, perhaps in the middle of a frame, with frames of an earlier use behind it, whose
 * salts differ. A broken frame followed by a commit with the right salts means that committed transactions are lost, unless the index
 * of the log shows that they were never published: a process can die between writing its commit and publishing it, and another
 * one then overwrites the beginning of what it wrote. Returns null if nothing is lost.
 */
export function findWalDamage(path: string): WalDamage | null {
  const file = tryOpen(`${path}-wal`);
  if (file === null) return null;
  try {
    for (;;) {
      const header = Buffer.alloc(HEADER);
      const index = readIndex(path);
      if (readSync(file, header, 0, HEADER, 0) < HEADER) return null;
      const damage = scan(file, header, fstatSync(file).size);
      if (damage === null || isUnpublished(index, header, damage)) return null;
      // Another process wrote meanwhile, so the reads are inconsistent.
      if (readIndex(path).equals(index)) return damage;
    }
  } finally {
    closeSync(file);
  }
}

/** The first copy of the header of the log's index; empty if there is none. */
function readIndex(path: string): Buffer {
  const file = tryOpen(`${path}-shm`);
  if (file === null) return Buffer.alloc(0);
  try {
    const index = Buffer.alloc(INDEX_HEADER);
    return index.subarray(0, readSync(file, index, 0, INDEX_HEADER, 0));
  } finally {
    closeSync(file);
  }
}

function isUnpublished(index: Buffer, header: Buffer, { frame, lost }: WalDamage): boolean {
  // Only the last transaction can be unpublished. More of them are lost, even if SQLite has recovered meanwhile and reset the index.
  if (lost > 1) return false;
  if (index.length < INDEX_HEADER || !index.subarray(32, 40).equals(header.subarray(16, 24))) return false;
  const published = endianness() === 'LE' ? index.readUInt32LE(16) : index.readUInt32BE(16);
  return published < frame;
}

/** A sentence for people. */
export function describeWalDamage(path: string, { frame, lost }: WalDamage): string {
  const what = lost === 1 ? 'one transaction that was' : `${lost} transactions that were`;
  const doubt = lost === 1 ? ' If the power failed during the write, the commit had not been confirmed.' : '';
  return `The write-ahead log ${path}-wal is damaged at frame ${frame}: ${what} committed behind it cannot be read.${doubt}`;
}

function scan(file: number, header: Buffer, size: number): WalDamage | null {
  const magic = header.readUInt32BE(0);
  const pageSize = header.readUInt32BE(8);
  const sums: Sums = [0, 0];
  add(sums, header.subarray(0, 24), magic);
  const summed = sums[0] === header.readUInt32BE(24) && sums[1] === header.readUInt32BE(28);
  if (!summed || (magic !== MAGIC_LITTLE && magic !== MAGIC_BIG) || pageSize < 512 || pageSize > 65_536) {
    return size > HEADER ? damagedHeader(file, size) : null;
  }
  const salts = header.subarray(16, 24);
  const frame = Buffer.alloc(FRAME_HEADER + pageSize);
  let broken = 0;
  let lost = 0;
  for (let n = 1; HEADER + n * frame.length <= size; n++) {
    if (readSync(file, frame, 0, frame.length, HEADER + (n - 1) * frame.length) < frame.length) break;
    const own = frame.subarray(8, 16).equals(salts);
    if (broken === 0) {
      if (own) {
        add(sums, frame.subarray(0, 8), magic);
        add(sums, frame.subarray(FRAME_HEADER), magic);
      }
      if (own && sums[0] === frame.readUInt32BE(16) && sums[1] === frame.readUInt32BE(20)) continue;
      broken = n;
    } else if (own && frame.readUInt32BE(4) !== 0) lost += 1;
  }
  return lost > 0 ? { frame: broken, lost } : null;
}

/** The header would say how large its frames are and whose they are; without it, only their existence is known. */
function damagedHeader(file: number, size: number): WalDamage | null {
  const rest = Buffer.alloc(Math.min(size - HEADER, 65_536));
  readSync(file, rest, 0, rest.length, HEADER);
  return rest.some((byte) => byte !== 0) ? { frame: 1, lost: 1 } : null;
}

type Sums = [number, number];

/** SQLite's checksum: two sums over pairs of 32-bit words, in the byte order that the magic number names. */
function add(sums: Sums, bytes: Buffer, magic: number): void {
  let [first, second] = sums;
  const big = magic === MAGIC_BIG;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, !big) + second) >>> 0;
    second = (second + view.getUint32(at + 4, !big) + first) >>> 0;
  }
  sums[0] = first;
  sums[1] = second;
}

function tryOpen(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch {
    return null;
  }
}
