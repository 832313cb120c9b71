import { open } from 'node:fs/promises';
import type { LogEntry, LogWish } from '../http/api.ts';

/** Only the end of the file is read. */
const MOST_BYTES = 1024 * 1024;
const LEVELS = { info: 30, warn: 40, error: 50 } as const;
const HIDDEN = new Set(['level', 'time', 'pid', 'msg', 'hostname']);

/** The newest entries of a log, newest first; empty if there is no log. */
export async function readLogEntries(file: string, { level, text, limit }: LogWish): Promise<LogEntry[]> {
  const wanted = text.toLowerCase();
  const lines = (await readEnd(file)).split('\n').reverse();
  const found: LogEntry[] = [];
  for (const line of lines) {
    if (found.length === limit) break;
    if (!line.toLowerCase().includes(wanted)) continue;
    const entry = readEntry(line);
    if (entry && LEVELS[entry.level] >= LEVELS[level]) found.push(entry);
  }
  return found;
}

async function readEnd(file: string): Promise<string> {
  const opened = await open(file, 'r').catch(() => null);
  if (!opened) return '';
  try {
    const { size } = await opened.stat();
    const from = Math.max(0, size - MOST_BYTES);
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(size - from), 0, size - from, from);
    const end = buffer.toString('utf8', 0, bytesRead);
    // The first line may be the rest of one.
    return from === 0 ? end : end.slice(end.indexOf('\n') + 1);
  } finally {
    await opened.close();
  }
}

/** Null for a line that is not an entry. */
function readEntry(line: string): LogEntry | null {
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    if (!Number.isFinite(entry.time)) return null;
    const details = Object.entries(entry)
      .filter(([key]) => !HIDDEN.has(key))
      .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const);
    const number = Number(entry.level);
    const level = number >= LEVELS.error ? 'error' : number >= LEVELS.warn ? 'warn' : 'info';
    return { at: Number(entry.time), level, message: String(entry.msg ?? ''), details: Object.fromEntries(details) };
  } catch {
    return null;
  }
}
