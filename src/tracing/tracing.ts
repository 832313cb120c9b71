import type { Tracer } from '../core/tracing.ts';

/** What was asked for in the environment, by the names that OpenTelemetry and Sentry give. */
export interface TracingWish {
  /** Spans go to a collector. */
  readonly otlp: boolean;
  /** Spans and errors go to Sentry. */
  readonly sentryDsn: string | null;
  /** Spans are made at all. */
  readonly spans: boolean;
}

export interface TracingOptions {
  readonly version: string;
  readonly nodeId: string;
  readonly log: TracingLog;
}

export interface TracingLog {
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

type Write = (details: object, message: string) => void;

export interface Tracing {
  /** Null where only errors are told. */
  readonly tracer: Tracer | null;
  /** A log whose errors are told to whoever collects them, too. */
  watch<L extends TracingLog>(log: L): L;
  /** Tells of the error that ends the process, now: there is no later. The process stands still meanwhile, for a moment at most. */
  tellLast(details: object, message: string): void;
  /** Sends what is left, as far as that takes no longer than a moment. */
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Starts to trace where the environment says so. Null where it does not: then nothing was loaded, and nothing is traced. */
export async function openTracing(env: Environment, options: TracingOptions): Promise<Tracing | null> {
  const wish = readWish(env);
  if (!wish) return null;
  try {
    const { startTracing } = await import('./start.ts');
    return startTracing(env, wish, options);
  } catch (error) {
    // Agents work whether somebody watches or not. The words of the error could hold an endpoint's key.
    options.log.warn({ error: (error as Error).name }, 'nothing is traced: check the OTEL_* variables and SENTRY_DSN');
    return null;
  }
}

function readWish(env: Environment): TracingWish | null {
  const said = (name: string) => env[name]?.trim() || null;
  const spans = said('OTEL_SDK_DISABLED')?.toLowerCase() !== 'true';
  const exporters = said('OTEL_TRACES_EXPORTER')?.split(',') ?? null;
  const endpoint = said('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? said('OTEL_EXPORTER_OTLP_ENDPOINT');
  const otlp = spans && (exporters?.some((name) => name.trim() === 'otlp') ?? endpoint !== null);
  const sentryDsn = said('SENTRY_DSN');
  return otlp || sentryDsn !== null ? { otlp, sentryDsn, spans } : null;
}
