import { APICallError } from '@ai-sdk/provider';
import { cleanText, shorten } from '../../core/text.ts';
import { classify } from '../classify.ts';
import type { Failed } from '../verdict.ts';

/** A failed model call. */
export class ModelFailed extends Error {
  readonly failed: Failed;
  /** The same call may succeed soon. */
  readonly passes: boolean;

  constructor(failed: Failed, passes: boolean) {
    super(failed.message);
    this.failed = failed;
    this.passes = passes;
  }
}

/** The service answers more than any model would; asked again, it would answer the same. */
export class EndlessAnswer extends Error {}

const LONGEST = 2_000;
/** The daemon asked the service itself. */
const SEEN = { metered: true } as const;
const QUOTA_MS = 3_600_000;
/** Waiting does not help: somebody has to pay, or a new period has to begin. */
const exhausted =
  /insufficient_quota|exceeded your current quota|credit balance|billing|out of credits|insufficient (credits|balance|funds)|payment required/i;

/** Classifies what a library threw or put into its stream. */
export function failureOf(error: unknown): ModelFailed {
  const endless = chainOf(error).find((one) => one instanceof EndlessAnswer);
  if (endless) {
    const message = `The model's answer is not used: ${endless.message}.`;
    return new ModelFailed({ type: 'error', kind: 'invalid_request', message }, false);
  }
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  const message = `The model could not be asked: ${describe(error, status)}`;
  const words =
    status === undefined || status < 400
      ? describe(error, undefined)
      : `status ${status} ${describe(error, undefined)}`;
  const told = classify(words);
  // A connection that breaks has no status, or that of the response that it cut.
  const kind = told.kind === 'crash' || told.kind === 'bad_session' ? 'overloaded' : told.kind;
  const quota = kind === 'rate_limit' && exhausted.test(words);
  const retryAfterMs = quota ? QUOTA_MS : (headerWait(error) ?? told.retryAfterMs);
  const waits = { ...(retryAfterMs !== undefined && { retryAfterMs }), ...(kind === 'rate_limit' && SEEN) };
  const failed: Failed = { type: 'error', kind, message, ...waits };
  return new ModelFailed(failed, !quota && (kind === 'overloaded' || kind === 'rate_limit'));
}

function headerWait(error: unknown): number | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const exact = Number(error.responseHeaders?.['retry-after-ms'] ?? Number.NaN);
  if (exact >= 0) return exact;
  const after = error.responseHeaders?.['retry-after'] ?? '';
  if (after === '') return undefined;
  const seconds = Number(after);
  if (seconds >= 0) return seconds * 1_000;
  const moment = Date.parse(after);
  return Number.isNaN(moment) ? undefined : Math.max(0, moment - Date.now());
}

/** The service's own words, never the request: it holds the conversation. */
function describe(error: unknown, status: number | undefined): string {
  const text =
    bodyMessage(error) ?? (error instanceof Error ? causes(error) : (JSON.stringify(error) ?? String(error)));
  return cleanText(shorten(status === undefined ? text : `HTTP ${status}: ${text}`, LONGEST));
}

function bodyMessage(error: unknown): string | null {
  if (!APICallError.isInstance(error) || !error.responseBody) return null;
  try {
    const body: unknown = JSON.parse(error.responseBody);
    const inner = fieldsOf(fieldsOf(body).error ?? body);
    const names = [inner.type, inner.code, inner.status].filter((name) => typeof name === 'string' && name !== 'error');
    const message = typeof inner.message === 'string' ? inner.message : error.responseBody;
    return [message, ...new Set(names)].join(' ');
  } catch {
    return error.responseBody;
  }
}

function causes(error: Error): string {
  return [...new Set(chainOf(error).map(({ message }) => message))].join(': ');
}

/** The error and its causes. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let cause: unknown = error; cause instanceof Error && chain.length < 4; cause = cause.cause) chain.push(cause);
  return chain;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
