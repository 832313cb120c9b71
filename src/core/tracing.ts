import { AsyncLocalStorage } from 'node:async_hooks';
import { SubstratError } from './errors.ts';

/** Ids, names, numbers and codes; never the text of a message, an argument, a memory or an error. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One piece of work as it is told to whoever collects traces. */
export interface Span {
  readonly traceId: string;
  /** As a W3C `traceparent`: what is stored with a message, so that what the message starts belongs to the same trace. */
  readonly trace: string;
  /** Times are milliseconds since 1970; without one, now. */
  child(name: string, attributes: Attributes, at?: number): Span;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Marks it as failed, with a code that says why. */
  fail(code: string): void;
  end(at?: number): void;
}

export interface Tracer {
  /** A span below one of another process or another time; with a parent that is null or no `traceparent`, the first of a trace. */
  start(
    name: string,
    attributes: Attributes,
    from: {
      readonly parent: string | null;
      readonly links?: readonly string[];
      readonly at?: number;
      /** It serves somebody outside. */
      readonly server?: boolean;
    },
  ): Span;
}

/** Which span's work is under way. Where nothing is traced none ever is, and to ask costs next to nothing. */
const current = new AsyncLocalStorage<Span | undefined>();

export function activeSpan(): Span | undefined {
  return current.getStore();
}

/** Does the work as a part of what is under way; where that is not traced, only the work. */
export function inSpan<T>(name: string, attributes: Attributes, work: (span?: Span) => Promise<T>): Promise<T> {
  const parent = current.getStore();
  return parent ? within(parent.child(name, attributes), work) : work();
}

/** Does the span's work and ends the span, however the work ends. */
export async function within<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await current.run(span, () => work(span));
  } catch (error) {
    span.fail(errorCode(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Does a part of the work of a span that goes on afterwards. Undefined is the work of none, whatever is under way. */
export function under<T>(span: Span | undefined, work: () => T): T {
  return span === current.getStore() ? work() : current.run(span, work);
}

/** Work that somebody else will start; it belongs to what is under way now. */
export function bound<A extends unknown[], T>(work: (...args: A) => T): (...args: A) => T {
  const span = current.getStore();
  return span ? (...args) => current.run(span, () => work(...args)) : work;
}

export function errorCode(error: unknown): string {
  return error instanceof SubstratError ? error.code : error instanceof Error ? error.name : 'unknown';
}
