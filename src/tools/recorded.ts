import { hash } from 'node:crypto';
import type { Attempt } from '../core/attempt.ts';
import { MOST_COUNTED } from '../core/counts.ts';
import { chooseNews } from '../core/delivery.ts';
import { SubstratError, toSubstratError } from '../core/errors.ts';
import type { Arguments } from '../core/question.ts';
import { isInScope } from '../core/scope.ts';
import { canonicalJson, shorten } from '../core/text.ts';
import { activeSpan } from '../core/tracing.ts';
import { describeProblems } from '../core/validation.ts';
import { type ActiveAttempt, advance, type Entry, record, scopeNow } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import type { CallResult, ToolDependencies } from './dependencies.ts';
import type { Tool } from './tool.ts';

/** One call of a built-in or custom tool. */
export interface Call {
  readonly tool: Pick<Tool, 'name' | 'input'>;
  readonly args: unknown;
  readonly id: string;
  /** Never the repetition of an earlier attempt's call. */
  readonly isNew: boolean;
  /** The number of seconds to wait if the call exceeds the rate limit. */
  readonly wait: number | null;
}

/** An expected error is recorded like any other result; only a call of an ended turn leaves no record. */
export async function refuse(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  call: Call,
  error: unknown,
  /** Whether its start is already recorded; with a key, it counts among the identical calls. */
  { started = false, key }: { readonly started?: boolean; readonly key?: string } = {},
): Promise<CallResult> {
  if (error instanceof NotInScope) throw error;
  const { code, message } = reportError(deps, error);
  const result = { error: { code, message } };
  activeSpan()?.fail(code);
  // A start whose end may not have been stored stays open: a later attempt is told that the outcome is unknown.
  const lost = code === 'store' || (code === 'outcome_unknown' && started);
  const limited = code === 'rate_limited';
  if (code === 'fenced' || lost || (limited && attempt.limited)) return { result, isError: true, news: 0 };
  const recording = deps.store.write(async (tx) => {
    await tx.runs.holdRun(attempt);
    // Calls refused at the same time count as consecutive, too.
    if (limited && (await wasLimited(tx, attempt))) return { progress: null, news: 0 };
    const ended = returnEntry(call, { result, isError: true, ...(key !== undefined && { key }) });
    const entries = started ? [ended] : [callEntry(call, excerpt(call.args)), ended];
    return { progress: await record(tx, attempt, entries, deps.clock()), news: await countNews(tx, attempt) };
  }, `tree ${attempt.treeId}`);
  // If recording fails, the call is still refused and had no effect that a later attempt could repeat.
  const recorded = await recording.catch(() => null);
  if (recorded) {
    advance(attempt, recorded.progress);
    attempt.limited = limited;
  }
  return { result, isError: true, news: recorded?.news ?? 0 };
}

async function wasLimited(tx: Tx, { runId }: Attempt): Promise<boolean> {
  const last = await tx.records.getLastRecord({ runId });
  if (last?.type !== 'tool_return_message' || !last.isError) return false;
  return (last.content as { error?: { code?: string } } | null)?.error?.code === 'rate_limited';
}

export function reportError({ log }: ToolDependencies, error: unknown): SubstratError {
  if (!(error instanceof SubstratError)) log.error({ error: (error as Error).stack }, 'a tool failed');
  return toSubstratError(error);
}

export function parseInput({ tool, args, wait }: Call): Arguments {
  const parsed = tool.input.safeParse(args);
  if (parsed.success) return parsed.data;
  if (wait !== null) throw tooMany(wait);
  throw new SubstratError('bad_request', `${tool.name}: ${describeProblems(parsed.error)}.`);
}

/**
 * Refuses a call over the rate limit before any work is done for it. Two kinds of calls are exempt and must be
 * checked first: a reply, and a call whose result an earlier attempt recorded.
 */
export function refuseEarly(
  { wait }: Call,
  attempt: ActiveAttempt,
  { mayReply, effect }: { readonly mayReply?: boolean; readonly effect: boolean },
): void {
  const mayBeRepeated = effect && attempt.number > 1;
  if (wait !== null && !mayReply && !mayBeRepeated) throw tooMany(wait);
}

export function tooMany(wait: number): SubstratError {
  return new SubstratError('rate_limited', `Too many calls. Wait ${wait} seconds before the next one.`);
}

/** Refused arguments can have any size; this keeps enough for a person to see what was tried. */
function excerpt(args: unknown): unknown {
  const brief = (value: unknown): unknown =>
    typeof value === 'string' ? shorten(value, 1000) : typeof value === 'object' && value !== null ? '[…]' : value;
  if (typeof args !== 'object' || args === null) return brief(args);
  const entries: [string, unknown][] = Object.entries(args).slice(0, 20);
  return Object.fromEntries(entries.map(([key, value]) => [shorten(key), brief(value)]));
}

export function callKey(name: string, input: unknown): string {
  return hash('sha256', `${name} ${canonicalJson(input)}`, 'base64url');
}

/** What an approval is for. A tool that has changed since needs a new one. */
export function approvalKey({ name, version }: { readonly name: string; readonly version?: string }, input: unknown) {
  return callKey(version === undefined ? name : `${name} ${version}`, input);
}

/** With a key, it is a start whose end may never be recorded. */
export function callEntry({ tool, id }: Call, args: unknown, key?: string): Entry {
  const entry = { type: 'tool_call_message' as const, tool: tool.name, callId: id, content: args };
  return key === undefined ? entry : { ...entry, callKey: key };
}

export function returnEntry(
  { tool, id }: Call,
  { result, key, isError, effect }: { result: object; key?: string; isError?: boolean; effect?: boolean },
): Entry {
  return {
    type: 'tool_return_message',
    tool: tool.name,
    callId: id,
    content: result,
    ...(key && { callKey: key }),
    isError: isError ?? false,
    effect: effect ?? false,
  };
}

/** The number of identical calls that this attempt has made so far. */
export function callsMade(tx: Tx, { runId, number }: Attempt, callKey: string): Promise<number> {
  return tx.records.countCalls({ runId, callKey, attempt: number });
}

/** The tool was removed from the scope of the agent or of an ancestor: for the caller it does not exist. */
export class NotInScope extends Error {}

export async function checkScope(tx: Tx, attempt: ActiveAttempt, tool: string): Promise<void> {
  if (!isInScope(await scopeNow(tx, attempt), tool)) throw new NotInScope(tool);
}

/** What the next `check_inbox` would look at, so that a long inbox costs no more than a short one. */
export async function countNews(tx: Tx, { agentId, widest }: ActiveAttempt): Promise<number> {
  if (!isInScope(widest, 'check_inbox')) return 0;
  return chooseNews(await tx.deliveries.listPendingHeads({ agentId, limit: MOST_COUNTED })).length;
}
