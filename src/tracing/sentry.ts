import { defaultStackParser, getOtlpTracesEndpoint, makeNodeTransport, NodeClient } from '@sentry/node';
import { SubstratError } from '../core/errors.ts';
import { activeSpan } from '../core/tracing.ts';

export interface Sentry {
  /** Where it takes spans. */
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** An error as the log has it, without its words: they may hold what somebody wrote. */
  tell(details: object, message: string): void;
  close(ms: number): PromiseLike<unknown>;
}

/** A client of its own: nothing of Sentry's that watches the process, its modules or its requests is set up. */
export function openSentry({ dsn, version, nodeId }: { dsn: string; version: string; nodeId: string }): Sentry {
  const endpoint = getOtlpTracesEndpoint(dsn);
  if (!endpoint) throw new SubstratError('config', 'SENTRY_DSN is no DSN.');
  const client = new NodeClient({
    dsn,
    release: `substrat@${version}`,
    serverName: nodeId,
    integrations: [],
    transport: makeNodeTransport,
    stackParser: defaultStackParser,
    sendClientReports: false,
  });
  client.init();
  return {
    endpoint,
    tell: (details, message) => {
      const { error } = details as { error?: unknown };
      const stack = typeof error === 'string' ? error : '';
      const span = activeSpan();
      client.captureEvent({
        level: 'error',
        exception: {
          values: [
            { type: typeOf(stack), value: message, stacktrace: { frames: defaultStackParser(placesOf(stack)) } },
          ],
        },
        ...(span && { contexts: { trace: { trace_id: span.traceId, span_id: span.trace.split('-')[2] as string } } }),
      });
    },
    close: (ms) => client.close(ms),
  };
}

/** The class of an error by the beginning of its stack. */
function typeOf(stack: string): string {
  return /^([A-Z]\w{0,40})(:|\n)/.exec(stack)?.[1] ?? 'Error';
}

/** Only the lines that say where it happened. */
function placesOf(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^ {4}at \S/.test(line))
    .join('\n');
}
