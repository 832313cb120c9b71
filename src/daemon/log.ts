import { openSync } from 'node:fs';
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

const require = createRequire(import.meta.url);

/** Writes JSON lines to the home's log. Never log message texts, prompts or arguments: they may contain secrets. */
export function openLog(file: string): Log {
  const dest = openFile(file);
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
      logger ??= load();
      logger[level](details, message);
    };
  return { info: write('info'), warn: write('warn'), error: write('error') };
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
