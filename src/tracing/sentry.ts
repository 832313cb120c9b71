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
  /** Where it takes spans. */
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** An error as the log has it, without its words: they may hold what somebody wrote. */
  tell(details: object, message: string): void;
  /** The same of the error that ends the process, which stands still until it is told, or for so long. */
  tellLast(details: object, message: string, ms: number): void;
  close(ms: number): PromiseLike<unknown>;
}

/** A client of its own: nothing of Sentry's that watches the process, its modules or its requests is set up. */
export function openSentry({ dsn, version, nodeId }: { dsn: string; version: string; nodeId: string }): Sentry {
  const endpoint = getOtlpTracesEndpoint(dsn);
  if (!endpoint) throw new SubstratError('config', 'SENTRY_DSN is no DSN.');
  /** How long the process may stand still for what is sent, once it dies. */
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
