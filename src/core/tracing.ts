import { AsyncLocalStorage } from 'node:async_hooks';
import { SubstratError } from './errors.ts';

/** Ids, names, numbers and codes; never the text of a message, an argument, a memory or an error. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One unit of work as exported to a trace collector. */
export interface Span {
  readonly traceId: string;
  /** As a W3C `traceparent`. Stored with a message, so that the work it starts belongs to the same trace. */
  readonly trace: string;
  /** Times are milliseconds since 1970; default: now. */
  child(name: string, attributes: Attributes, at?: number): Span;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Marks it as failed with an error code. */
  fail(code: string): void;
  end(at?: number): void;
}

export interface Tracer {
  /**
   * Starts a span below one of another process or time. If the parent is null or not a valid `traceparent`, starts a
   * trace.
   */
  start(
    name: string,
    attributes: Attributes,
    from: {
      readonly parent: string | null;
      readonly links?: readonly string[];
      readonly at?: number;
      /** It serves a request from outside. */
      readonly server?: boolean;
    },
  ): Span;
}

/** The current span. Undefined when nothing is traced; reading it is then nearly free. */
const current = new AsyncLocalStorage<Span | undefined>();
/** Where spans wait that must not be exported yet. */
const holding = new AsyncLocalStorage<(() => void)[]>();

export function activeSpan(): Span | undefined {
  return current.getStore();
}

/** Runs the work as a child of the current span; just runs it if nothing is traced. */
export function inSpan<T>(name: string, attributes: Attributes, work: (span?: Span) => Promise<T>): Promise<T> {
  const parent = current.getStore();
  return parent ? within(parent.child(name, attributes), work) : work();
}

/** Runs the work and ends the span when it settles. */
export async function within<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await current.run(span, () => work(span));
  } catch (error) {
    span.fail(errorCode(error));
    throw error;
  } finally {
    const ends = holding.getStore();
    const at = Date.now();
    if (ends) ends.push(() => span.end(at));
    else span.end();
  }
}

/** Runs a part of the work of a span that continues afterwards. Undefined means no span, even if one is current. */
export function under<T>(span: Span | undefined, work: () => T): T {
  return span === current.getStore() ? work() : current.run(span, work);
}

/**
 * Binds work that may be executed again, or undone, to the current span. The spans it makes with `inSpan` are exported
 * by `release`: those of the last execution, and none if it is not called.
 */
export function held<A extends unknown[], T>(work: (...args: A) => T): { run: (...args: A) => T; release(): void } {
  const span = current.getStore();
  if (!span) return { run: work, release: () => {} };
  let ends: (() => void)[] = [];
  return {
    run: (...args) => {
      ends = [];
      return current.run(span, () => holding.run(ends, () => work(...args)));
    },
    release: () => {
      for (const end of ends) end();
    },
  };
}

/** Binds a part of the work that is executed later to the current span. */
export function bound<T>(work: () => T): () => T {
  return current.getStore() ? AsyncLocalStorage.bind(work) : work;
}

export function errorCode(error: unknown): string {
  return error instanceof SubstratError ? error.code : error instanceof Error ? error.name : 'unknown';
}
