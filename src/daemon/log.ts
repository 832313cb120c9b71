import { closeSync, existsSync, fstatSync, openSync, renameSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { SubstratError } from '../core/errors.ts';
import { activeSpan } from '../core/tracing.ts';

type Write = (details: object, message: string) => void;

export interface Log {
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** A log that has grown to this size is put aside; so many of those are kept. */
const MAX_BYTES = 10 * 1024 * 1024;
const KEPT = 3;
/** How often the size is looked at, in lines. */
const LOOK_EVERY = 200;

const require = createRequire(import.meta.url);

/** Writes JSON lines to the home's log. Never log message texts, prompts or arguments: they may contain secrets. */
export function openLog(file: string, { maxBytes = MAX_BYTES, lookEvery = LOOK_EVERY } = {}): Log {
  if (existsSync(file) && statSync(file).size >= maxBytes) putAside(file);
  let dest = openFile(file);
  let lines = 0;
  let logger: Logger | null = null;
  // Loaded for the first line, so that it does not delay the start of agents.
  const load = (): Logger => {
    const { pino } = require('pino') as typeof import('pino');
    const destination = pino.destination({ dest, sync: true });
    // If the disk is full, lines are lost; the daemon continues.
    destination.on('error', () => {});
    return pino({ base: { pid: process.pid }, mixin: traceOf }, destination);
  };
  const write =
    (level: 'info' | 'warn' | 'error'): Write =>
    (details, message) => {
      lines += 1;
      if (lines % lookEvery === 0 && fstatSync(dest).size >= maxBytes) {
        putAside(file);
        closeSync(dest);
        dest = openFile(file);
        logger = null;
      }
      logger ??= load();
      logger[level](details, message);
    };
  return { info: write('info'), warn: write('warn'), error: write('error') };
}

/** `daemon.log.1` is the newest of those that are kept. If a file cannot be renamed, the log goes on in it. */
function putAside(file: string): void {
  try {
    for (let n = KEPT - 1; n >= 1; n -= 1)
      if (existsSync(`${file}.${n}`)) renameSync(`${file}.${n}`, `${file}.${n + 1}`);
    renameSync(file, `${file}.1`);
  } catch {}
}

/** The trace id that connects a log line with its trace. */
function traceOf(): object {
  const span = activeSpan();
  return span ? { trace_id: span.traceId } : {};
}

function openFile(file: string): number {
  try {
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw new SubstratError('config', `The log cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}
