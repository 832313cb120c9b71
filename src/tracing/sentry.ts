import {
  createTransport,
  defaultStackParser,
  getOtlpTracesEndpoint,
  makeNodeTransport,
  NodeClient,
} from '@sentry/node';
import { SubstratError } from '../core/errors.ts';
import { activeSpan } from '../core/tracing.ts';
import { postAtOnce } from './post-at-once.ts';

export interface Sentry {
  /** Where spans are sent. */
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Reports an error as logged, without its message, which may contain user text. */
  tell(details: object, message: string): void;
  /** The same for the error that ends the process; blocks until it is sent or timed out. */
  tellLast(details: object, message: string, ms: number): void;
  close(ms: number): PromiseLike<unknown>;
}

/** A separate client: none of Sentry's instrumentation of the process, modules or requests is installed. */
export function openSentry({ dsn, version, nodeId }: { dsn: string; version: string; nodeId: string }): Sentry {
  const endpoint = getOtlpTracesEndpoint(dsn);
  if (!endpoint) throw new SubstratError('config', 'SENTRY_DSN is not a valid DSN.');
  /** How long a dying process may block to send. */
  let patience: number | null = null;
  const client = new NodeClient({
    dsn,
    release: `substrat@${version}`,
    serverName: nodeId,
    integrations: [],
    transport: (options) => {
      const usual = makeNodeTransport(options);
      const last = createTransport(options, async ({ body }) => {
        const { url, headers = {} } = options;
        postAtOnce(
          { url, headers, body: typeof body === 'string' ? body : new TextDecoder().decode(body) },
          patience ?? 0,
        );
        return {};
      });
      return { ...usual, send: (envelope) => (patience === null ? usual : last).send(envelope) };
    },
    stackParser: defaultStackParser,
    sendClientReports: false,
  });
  client.init();
  const tell = (level: 'error' | 'fatal', details: object, message: string) => {
    const { error } = details as { error?: unknown };
    const stack = typeof error === 'string' ? error : '';
    const span = activeSpan();
    client.captureEvent({
      level,
      exception: {
        values: [{ type: typeOf(stack), value: message, stacktrace: { frames: defaultStackParser(placesOf(stack)) } }],
      },
      ...(span && { contexts: { trace: { trace_id: span.traceId, span_id: span.trace.split('-')[2] as string } } }),
    });
  };
  return {
    endpoint,
    tell: (details, message) => tell('error', details, message),
    tellLast: (details, message, ms) => {
      patience = ms;
      tell('fatal', details, message);
    },
    close: (ms) => client.close(ms),
  };
}

/** The class of an error, from the first line of its stack. */
function typeOf(stack: string): string {
  return /^([A-Z]\w{0,40})(:|\n)/.exec(stack)?.[1] ?? 'Error';
}

/** Only the stack frames. */
function placesOf(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^ {4}at \S/.test(line))
    .join('\n');
}
