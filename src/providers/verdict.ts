import { classify } from './classify.ts';
import { type ProcessEnd, processFailure } from './process.ts';
import type { ProviderEvent } from './provider.ts';

export type Final = Extract<ProviderEvent, { type: 'done' | 'error' }>;
export type Failed = Extract<Final, { type: 'error' }>;

/** The longest text may take up to six times its length as JSON. */
export const maxLineBytes = 8 * 1024 * 1024;

/**
 * How a turn ended: the program's last event decides, but a `done` only counts if the program then exits with 0 on
 * its own. Without a final event, the program has crashed.
 */
export function conclude(end: ProcessEnd, final: Final | null, oversized: number): Final {
  if (end.reason !== 'exit') return processFailure(end);
  if (final?.type === 'error' || (final && end.exitCode === 0)) return final;
  const dropped = oversized > 0 ? ` Lines longer than ${maxLineBytes / 1024 ** 2} MiB were dropped: ${oversized}.` : '';
  const message = `${end.message} It ${final ? 'had reported its result before' : 'did not report a result'}.${dropped}`;
  return processFailure({ ...end, message });
}

/** What a program reports about a failure in addition to its message. */
export interface Reported {
  /** The HTTP status of the model's answer. */
  readonly status?: number | null | undefined;
  readonly retryAfterMs?: number | null | undefined;
}

/** A failure classified by the program's message, and by what else it reports. */
export function failed(message: string, { status, retryAfterMs }: Reported = {}): Failed {
  const classified = classify(status ? `${status} ${message}` : message);
  const told = retryAfterMs ?? undefined;
  const mayWait = classified.kind === 'rate_limit' || classified.kind === 'overloaded';
  if (!mayWait || told === undefined) return { type: 'error', message, ...classified };
  return { type: 'error', message, kind: classified.kind, retryAfterMs: told };
}
