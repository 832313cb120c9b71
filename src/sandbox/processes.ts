import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { turnOfOthers } from '../core/turn-of-others.ts';
import type { Inside } from './namespace.ts';

/** The sum over the processes of one sandbox. */
export interface Count {
  readonly processes: number;
  readonly threads: number;
  /** Shared pages are counted for each process. */
  readonly residentBytes: number;
  readonly cpuMs: number;
}

const TICK_MS = 10;
const LOWEST_PRIORITY = 19;
/** Yields to the event loop after this many processes: about a millisecond. */
const AT_ONCE = 50;
const memoryMounts = ['tmp', 'dev/shm', 'run'];
const pageBytes = readPageSize();

/**
 * The processes in the sandbox, as its own /proc lists them: this does not depend on how many other processes the
 * machine has. Null before the sandbox has its /proc and after it has ended.
 */
export function listInside({ pid }: Inside): readonly string[] | null {
  const proc = procOf(pid);
  try {
    // Only a process of the same PID namespace has this link. So this is the machine's own /proc.
    if (readlinkSync(`${proc}/self`)) return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return null;
  }
  try {
    const names = readdirSync(proc).filter((name) => /^[1-9]/.test(name));
    return names.includes('1') ? names.filter((name) => name !== '1') : null;
  } catch {
    return null;
  }
}

export async function countInside({ pid }: Inside, names: readonly string[]): Promise<Count> {
  const count = { processes: names.length, threads: 0, residentBytes: 0, cpuMs: 0 };
  for (const [index, name] of names.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await turnOfOthers();
    const stat = read(`${procOf(pid)}/${name}/stat`);
    // The name in parentheses may contain anything; the third field starts after the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length < 22) continue;
    count.threads += Number(fields[17]);
    count.residentBytes += Number(fields[21]) * pageBytes;
    for (const field of [11, 12, 13, 14]) count.cpuMs += Number(fields[field]) * TICK_MS;
  }
  return count;
}

/** The exact memory: a page that n processes share counts 1/n for each. Pages of mapped files do not count. */
export async function measureMemory({ pid }: Inside, names: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const name of names) {
    const rollup = await readFile(`${procOf(pid)}/${name}/smaps_rollup`, 'utf8').catch(() => '');
    const kB = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);
    bytes += (kB('Pss') - kB('Pss_File')) * 1024;
  }
  return bytes;
}

/** What is stored in the sandbox's file systems in memory. */
export async function measureTemporary({ pid }: Inside): Promise<number> {
  const used = memoryMounts.map(async (mount) => {
    const { type, blocks, bfree, bsize } = await statfs(`/proc/${pid}/root/${mount}`);
    return type === TMPFS ? (blocks - bfree) * bsize : 0;
  });
  const settled = await Promise.allSettled(used);
  return settled.reduce((sum, one) => sum + (one.status === 'fulfilled' ? one.value : 0), 0);
}

/** The bytes that the processes have caused to be written to a disk, those included that they waited for. */
export async function measureWritten({ pid }: Inside, names: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const [index, name] of ['1', ...names].entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await turnOfOthers();
    bytes += Number(/^write_bytes: (\d+)/m.exec(read(`${procOf(pid)}/${name}/io`))?.[1] ?? 0);
  }
  return bytes;
}

/** Gives all threads the lowest priority. Their own pids are only known inside, so the machine's /proc is searched. */
export async function lowerPriority({ namespace }: Inside): Promise<void> {
  const link = `pid:[${namespace}]`;
  for (const [index, name] of readdirSync('/proc').filter(isNumber).entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await turnOfOthers();
    try {
      if (readlinkSync(`/proc/${name}/ns/pid`) !== link) continue;
      for (const thread of readdirSync(`/proc/${name}/task`)) setPriority(Number(thread), LOWEST_PRIORITY);
    } catch {
      // It has exited, or belongs to somebody else.
    }
  }
}

const TMPFS = 0x01021994;

function procOf(pid: number): string {
  return `/proc/${pid}/root/proc`;
}

function isNumber(name: string): boolean {
  return /^[1-9]/.test(name);
}

/** Returns an empty text if the process has exited. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** From the values that the kernel passed to this process; AT_PAGESZ is 6. */
function readPageSize(): number {
  const values = process.platform === 'linux' ? readFileSync('/proc/self/auxv') : Buffer.alloc(0);
  for (let at = 0; at + 16 <= values.length; at += 16) {
    if (values.readBigUInt64LE(at) === 6n) return Number(values.readBigUInt64LE(at + 8));
  }
  return 4096;
}
