import pino from 'pino';
import { SubstratError } from '../core/errors.ts';

export type Log = Pick<pino.Logger, 'info' | 'warn' | 'error'>;

/** JSON lines in the home's log. No message text, prompt or argument is ever logged: they may hold secrets. */
export function openLog(file: string): Log {
  try {
    return pino({ base: { pid: process.pid } }, pino.destination({ dest: file, mode: 0o600, sync: true }));
  } catch (error) {
    throw new SubstratError('config', `The log cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}
