import { hash } from 'node:crypto';
import { shorten } from '../core/agent.ts';
import { chooseNews } from '../core/delivery.ts';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import { canonicalJson } from '../core/text.ts';
import { activeSpan } from '../core/tracing.ts';
import { type Attempt, record } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import type { CallResult, ToolDependencies } from './call.ts';
import { toolsInScope } from './catalog.ts';
import { describeProblems, type Tool } from './tool.ts';

/** One call of a tool, of ours or of a script. */
export interface Call {
  readonly tool: Pick<Tool, 'name' | 'input'>;
  readonly args: unknown;
  readonly id: string;
  /** Seconds to wait, for a call that is one too many. */
  readonly wait: number | null;
}

/** An expected error is a result like any other, and recorded like one; only a turn that has ended leaves no trace. */
export async function refuse(
  deps: ToolDependencies,
  attempt: Attempt,
  call: Call,
  error: unknown,
  /** Its start stands in the record already. */
  started = false,
): Promise<CallResult> {
  const { code, message } = describe(deps, error);
  const result = { error: { code, message } };
  activeSpan()?.fail(code);
  // A start whose end may not have been stored stays without one: a later attempt is told that the outcome is unknown.
  const lost = code === 'store' || (code === 'outcome_unknown' && started);
  const unrecorded = code === 'fenced' || lost || (code === 'rate_limited' && attempt.limited);
  attempt.limited = code === 'rate_limited';
  if (unrecorded) return { result, isError: true, news: 0 };
  const news = deps.store.write(async (tx) => {
    await tx.holdRun(attempt);
    const now = deps.clock();
    if (!started) await recordCall(tx, attempt, { ...call, args: excerpt(call.args) }, now);
    await recordReturn(tx, attempt, call, { result, isError: true }, now);
    return countNews(tx, attempt);
  });
  return { result, isError: true, news: await news.catch(() => 0) };
}

export function describe(deps: ToolDependencies, error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof SubstratError) return { code: error.code, message: error.message };
  deps.log.error({ error: (error as Error).stack }, 'a tool failed');
  return { code: 'internal', message: 'Something went wrong inside Substrat; its log has the details.' };
}

export function parseInput({ tool, args, wait }: Call): unknown {
  const parsed = tool.input.safeParse(args);
  if (parsed.success) return parsed.data;
  if (wait !== null) throw tooMany(wait);
  throw new SubstratError('bad_request', `${tool.name}: ${describeProblems(parsed.error)}`);
}

/**
 * Refuses a call that is one too many before any work is done for it. Two kinds of calls are exempt from the limit, and have
 * to be looked at first: a reply, and a call whose result an earlier attempt recorded.
 */
export function refuseEarly(
  { wait }: Call,
  attempt: Attempt,
  { mayReply, effect }: { readonly mayReply?: boolean; readonly effect: boolean },
): void {
  const mayBeRepeated = effect && attempt.number > 1;
  if (wait !== null && !mayReply && !mayBeRepeated) throw tooMany(wait);
}

export function tooMany(wait: number): SubstratError {
  return new SubstratError('rate_limited', `Too many calls. Wait ${wait} seconds before the next one.`);
}

/** What was refused can be anything of any size; enough of it is kept for a person to see what was tried. */
function excerpt(args: unknown): unknown {
  const brief = (value: unknown): unknown =>
    typeof value === 'string' ? shorten(value, 1000) : typeof value === 'object' && value !== null ? '[…]' : value;
  if (typeof args !== 'object' || args === null) return brief(args);
  const entries = Object.entries(args).slice(0, 20);
  return Object.fromEntries(entries.map(([key, value]) => [shorten(key), brief(value)]));
}

export function callKey(name: string, input: unknown): string {
  return hash('sha256', `${name} ${canonicalJson(input)}`, 'base64url');
}

/** With a key, it is a start, whose end may never come. */
export function recordCall(
  tx: Tx,
  attempt: Attempt,
  { tool, args, id, key }: Pick<Call, 'tool' | 'args' | 'id'> & { readonly key?: string },
  now: number,
): Promise<void> {
  const entry = { type: 'tool_call_message' as const, tool: tool.name, callId: id, content: args };
  return record(tx, attempt, { ...entry, ...(key !== undefined && { callKey: key }) }, now);
}

export function recordReturn(
  tx: Tx,
  attempt: Attempt,
  call: Call,
  { result, key, isError, effect }: { result: object; key?: string; isError?: boolean; effect?: boolean },
  now: number,
): Promise<void> {
  return record(
    tx,
    attempt,
    {
      type: 'tool_return_message',
      tool: call.tool.name,
      callId: call.id,
      content: result,
      ...(key && { callKey: key }),
      isError: isError ?? false,
      effect: effect ?? false,
    },
    now,
  );
}

export async function countNews(tx: Tx, attempt: Attempt): Promise<number> {
  const { agentId } = attempt;
  const pending = await tx.countPendingNews({ agentId });
  if (!pending?.n || !toolsInScope(attempt).some((tool) => tool.name === 'check_inbox')) return 0;
  return chooseNews(await tx.listPendingHeads({ agentId, limit: 1000 })).length;
}
