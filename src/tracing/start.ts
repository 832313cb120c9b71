import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { createCollectorExporter, createExporter, tellingOnce } from './export.ts';
import { createProvider } from './provider.ts';
import type { Sentry } from './sentry.ts';
import { createTracer } from './tracer.ts';
import type { Tracing, TracingOptions, TracingWish } from './tracing.ts';

/** Stopping must not take longer; spans that cannot be sent by then are dropped. */
const CLOSE_MS = 2000;

/** Everything that is loaded only if tracing is on. */
export function startTracing(
  env: Readonly<Record<string, string | undefined>>,
  { otlp, sentryDsn, spans }: TracingWish,
  { version, nodeId, log }: TracingOptions,
): Tracing {
  // By far the largest module to load: only the first export waits for it.
  const sentry = sentryDsn === null ? null : loadSentry(sentryDsn, version, nodeId);
  let ready: Sentry | null = null;
  sentry
    ?.then((opened) => {
      ready = opened;
    })
    ?.catch((error: NodeJS.ErrnoException) => log.warn({ error: error.name }, sentryProblem(error.code)));
  const exporters: SpanExporter[] = [];
  if (otlp) exporters.push(tellingOnce(createCollectorExporter(env), 'the collector', log));
  if (sentry && spans) exporters.push(tellingOnce(later(sentry), 'Sentry', log));
  const provider = spans ? createProvider(env, { version, nodeId, exporters }) : null;
  return {
    tracer: provider && createTracer(provider.getTracer('substrat', version)),
    watch: (own) => {
      if (!sentry) return own;
      const error: typeof own.error = (details, message) => {
        own.error(details, message);
        void sentry.then(({ tell }) => tell(details, message)).catch(() => {});
      };
      return { ...own, error };
    },
    tellLast: (details, message) => ready?.tellLast(details, message, CLOSE_MS),
    close: async () => {
      const left = [provider?.shutdown(), sentry?.then(({ close }) => close(CLOSE_MS))];
      await waitAtMost(CLOSE_MS, Promise.allSettled(left));
    },
  };
}

/** Its package is optional: it would be a third of what is installed, for something that few turn on. */
function sentryProblem(code: string | undefined): string {
  return code === 'ERR_MODULE_NOT_FOUND'
    ? 'nothing is sent to Sentry: SENTRY_DSN is set, but its package is not installed. Run `npm install -g @sentry/node@11`, or without -g in the clone or project that has Substrat'
    : 'nothing is sent to Sentry: check SENTRY_DSN';
}

async function loadSentry(dsn: string, version: string, nodeId: string): Promise<Sentry> {
  return (await import('./sentry.ts')).openSentry({ dsn, version, nodeId });
}

/** Holds spans until the exporter is loaded. */
function later(sentry: Promise<Sentry>): SpanExporter {
  const exporter = sentry.then(({ endpoint }) => createExporter(endpoint.url, endpoint.headers));
  // The exporter's caller gets the error; before that, nobody has awaited it.
  exporter.catch(() => {});
  return {
    export: (spans, done) => {
      exporter.then(
        (ready) => ready.export(spans, done),
        (error: Error) => done({ code: 1, error }),
      );
    },
    shutdown: () => exporter.then((ready) => ready.shutdown()).catch(() => {}),
  };
}

async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
