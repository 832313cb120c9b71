import type { Tracer } from '../core/tracing.ts';

/** The tracing settings in the environment, under the names of OpenTelemetry and Sentry. */
export interface TracingWish {
  /** Export spans to a collector. */
  readonly otlp: boolean;
  /** Report spans and errors to Sentry. */
  readonly sentryDsn: string | null;
  /** Create spans at all. */
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
  /** Null if only errors are reported. */
  readonly tracer: Tracer | null;
  /** A log whose errors are also reported. */
  watch<L extends TracingLog>(log: L): L;
  /** Reports the error that ends the process. Blocks for a short time. */
  tellLast(details: object, message: string): void;
  /** Flushes what is left, within a short time. */
  close(): Promise<void>;
}
