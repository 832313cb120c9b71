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
