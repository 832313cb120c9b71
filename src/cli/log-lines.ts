import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { paint } from '../command-line/terminal.ts';
import { localTime } from '../command-line/time.ts';

const LEVELS: Readonly<Record<number, string>> = { 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };
const COLOURS = { warn: 'yellow', error: 'red', fatal: 'red' } as const;
const HIDDEN = new Set(['level', 'time', 'pid', 'msg', 'hostname']);
const POLL_MS = 200;
const PIECE = 64 * 1024;

/** A line of the daemon's log in words; a line that is not JSON as it is. */
export function describeLogLine(line: string): string {
  const entry = parse(line);
  if (entry === null) return line;
  const level = LEVELS[Number(entry.level)] ?? 'info';
  const colour = level in COLOURS ? COLOURS[level as keyof typeof COLOURS] : null;
  const mark = level === 'info' ? '' : `${level.toUpperCase()} `;
  const details = Object.entries(entry)
    .filter(([key]) => !HIDDEN.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const time = paint('dim', localTime(new Date(Number(entry.time)).toISOString()));
  const words = `${colour ? paint(colour, mark) : mark}${String(entry.msg ?? '')}`;
  return [time, words, ...(details.length === 0 ? [] : [paint('dim', details.join(' '))])].join(' ');
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const entry: unknown = JSON.parse(line);
    const isEntry = typeof entry === 'object' && entry !== null && 'time' in entry && Number.isFinite(entry.time);
    return isEntry ? (entry as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Where reading goes on. */
export interface LogPlace {
  readonly inode: number;
  readonly offset: number;
}

/** The lines of the log, and where it goes on. */
export function readLines(file: string): { readonly lines: string[]; readonly place: LogPlace } {
  const opened = openSync(file, 'r');
  try {
    const content = readFileSync(opened);
    const place = { inode: fstatSync(opened).ino, offset: content.length };
    return { lines: content.toString('utf8').trimEnd().split('\n'), place };
  } finally {
    closeSync(opened);
  }
}

/** The lines that are added after a place, also after the file was replaced by a new one. */
export async function* followLines(file: string, from: LogPlace, signal: AbortSignal): AsyncGenerator<string> {
  let place = from;
  let rest = '';
  while (!signal.aborted) {
    const read = readFrom(file, place);
    if (read !== null) {
      place = read.place;
      const lines = (rest + read.text).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (read === null || read.text === '') await sleep(POLL_MS, null, { signal }).catch(() => {});
  }
}

/** Null while there is no file. */
function readFrom(file: string, { inode, offset }: LogPlace): { text: string; place: LogPlace } | null {
  if (!existsSync(file)) return null;
  const opened = openSync(file, 'r');
  try {
    const { ino, size } = fstatSync(opened);
    const from = ino === inode && size >= offset ? offset : 0;
    const piece = Buffer.alloc(Math.min(PIECE, size - from));
    const bytes = readSync(opened, piece, 0, piece.length, from);
    return { text: piece.toString('utf8', 0, bytes), place: { inode: ino, offset: from + bytes } };
  } finally {
    closeSync(opened);
  }
}
