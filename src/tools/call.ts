import { hash, randomUUID } from 'node:crypto';
import { shorten } from '../core/agent.ts';
import { chooseNews } from '../core/delivery.ts';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import { canonicalJson } from '../core/text.ts';
import { activeSpan, within } from '../core/tracing.ts';
import { type Attempt, record, stepOf } from '../runs/attempt.ts';
import type { AgentRow, Store, Tx, WorkspaceRow } from '../store/store.ts';
import { toolsInScope } from './catalog.ts';
import type { RateLimiter } from './rate.ts';
import { describeProblems, type Tool, type ToolOutcome, type ToolSettings } from './tool.ts';

export interface ToolDependencies {
  readonly store: Store;
  readonly clock: () => number;
  readonly settings: ToolSettings;
  readonly limiter: RateLimiter;
  readonly onAgentCreated: (agent: AgentRow) => Promise<void>;
  readonly onWorkspaceChanged: (workspace: WorkspaceRow) => Promise<void>;
  readonly log: { error(details: object, message: string): void };
}

export interface CallResult {
  readonly result: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** How many messages wait in the inbox of the caller. */
  readonly news: number;
}

/**
 * Executes one call of a tool for an attempt: validates, runs it and records call and return, all in one transaction, so
 * that a call that was cut off left nothing. Answers null for a tool that is not in the agent's scope.
 */
export async function callTool(
  deps: ToolDependencies,
  attempt: Attempt,
  name: string,
  args: unknown,
): Promise<CallResult | null> {
  const tool = toolsInScope(attempt).find((one) => one.name === name);
  if (!tool) return null;
  const id = randomUUID();
  const span = attempt.spans?.tool(stepOf(attempt, 'tool_call_message'), name, id);
  const call: Call = { tool, args: args ?? {}, id, wait: deps.limiter.take(attempt.agentId, deps.clock()) };
  const work = () => carryOut(deps, attempt, call);
  return span ? within(span, work) : work();
}

async function carryOut(deps: ToolDependencies, attempt: Attempt, call: Call): Promise<CallResult> {
  const { agentId } = attempt;
  const { tool } = call;
  let undo = async (): Promise<void> => {};
  try {
    const input = parseInput(call);
    let looked: unknown;
    if (tool.prepare || tool.look) {
      // What is done outside the store is not done for a turn that has ended, nor beyond the limit, nor a second time.
      const { agent, repeated } = await deps.store.read(async (tx) => {
        await tx.holdRun(attempt);
        return {
          agent: (await tx.getAgent({ id: agentId })) as AgentRow,
          repeated: await repeatOf(tx, attempt, tool, callKey(tool.name, input)),
        };
      });
      if (call.wait !== null && !repeated) throw tooMany(call.wait);
      const { store, settings } = deps;
      const preparation = { agent, store, settings };
      if (!repeated) undo = (await tool.prepare?.(preparation, input as never)) ?? undo;
      looked = await tool.look?.(preparation, input as never);
    }
    const { outcome, news } = await execute(deps, attempt, call, { input, looked });
    if (outcome.reply && call.wait === null) deps.limiter.giveBack(agentId);
    // It is there, whatever happens now; its directory is made again before its first run.
    if (outcome.created) await deps.onAgentCreated(outcome.created).catch((error) => describe(deps, error));
    if (outcome.workspace) await deps.onWorkspaceChanged(outcome.workspace).catch((error) => describe(deps, error));
    return { result: outcome.result, isError: false, news };
  } catch (error) {
    await undo();
    return refuse(deps, attempt, call, error);
  }
}

interface Call {
  readonly tool: Tool;
  readonly args: unknown;
  readonly id: string;
  /** Seconds to wait, for a call that is one too many. */
  readonly wait: number | null;
}

async function execute(
  deps: ToolDependencies,
  attempt: Attempt,
  call: Call,
  { input, looked }: { readonly input: unknown; readonly looked: unknown },
): Promise<{ outcome: ToolOutcome; news: number }> {
  const { tool } = call;
  const key = callKey(tool.name, input);
  const now = deps.clock();
  return deps.store.write(async (tx) => {
    const run = await tx.holdRun(attempt);
    const agent = (await tx.getAgent({ id: attempt.agentId })) as AgentRow;
    const nth = attempt.calls.get(key) ?? 0;
    const repeated = await repeatOf(tx, attempt, tool, key);
    const outcome =
      repeated ??
      (await tool.run(
        { tx, agent, run, attempt, settings: deps.settings, now, looked: looked as never },
        input as never,
      ));
    if (call.wait !== null && !outcome.reply && !repeated) throw tooMany(call.wait);
    await recordCall(tx, attempt, { ...call, args: input }, now);
    await recordReturn(tx, attempt, call, { key, result: outcome.result, effect: tool.effect && !repeated }, now);
    if (tool.effect) attempt.calls.set(key, nth + 1);
    attempt.limited = false;
    return { outcome, news: await countNews(tx, agent) };
  });
}

/** The k-th identical call gets what the k-th one of earlier attempts got. */
async function repeatOf(tx: Tx, attempt: Attempt, tool: Tool, key: string): Promise<ToolOutcome | null> {
  if (!tool.effect || attempt.number === 1) return null;
  const nth = attempt.calls.get(key) ?? 0;
  const effect = (await tx.listEffects({ runId: attempt.runId, callKey: key }))[nth];
  if (!effect) return null;
  return { result: { ...(JSON.parse(effect.content) as Record<string, unknown>), repeated: true } };
}

/** An expected error is a result like any other, and recorded like one; only a turn that has ended leaves no trace. */
async function refuse(deps: ToolDependencies, attempt: Attempt, call: Call, error: unknown): Promise<CallResult> {
  const { code, message } = describe(deps, error);
  const result = { error: { code, message } };
  activeSpan()?.fail(code);
  const unrecorded = code === 'fenced' || code === 'store' || (code === 'rate_limited' && attempt.limited);
  attempt.limited = code === 'rate_limited';
  if (unrecorded) return { result, isError: true, news: 0 };
  const news = deps.store.write(async (tx) => {
    await tx.holdRun(attempt);
    const now = deps.clock();
    await recordCall(tx, attempt, { ...call, args: excerpt(call.args) }, now);
    await recordReturn(tx, attempt, call, { result, isError: true }, now);
    return countNews(tx, (await tx.getAgent({ id: attempt.agentId })) as AgentRow);
  });
  return { result, isError: true, news: await news.catch(() => 0) };
}

function describe(deps: ToolDependencies, error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof SubstratError) return { code: error.code, message: error.message };
  deps.log.error({ error: (error as Error).stack }, 'a tool failed');
  return { code: 'internal', message: 'Something went wrong inside Substrat; its log has the details.' };
}

function parseInput({ tool, args, wait }: Call): unknown {
  const parsed = tool.input.safeParse(args);
  if (parsed.success) return parsed.data;
  if (wait !== null) throw tooMany(wait);
  throw new SubstratError('bad_request', `${tool.name}: ${describeProblems(parsed.error)}`);
}

function tooMany(wait: number): SubstratError {
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

function callKey(name: string, input: unknown): string {
  return hash('sha256', `${name} ${canonicalJson(input)}`, 'base64url');
}

function recordCall(tx: Tx, attempt: Attempt, { tool, args, id }: Call, now: number): Promise<void> {
  return record(tx, attempt, { type: 'tool_call_message', tool: tool.name, callId: id, content: args }, now);
}

function recordReturn(
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

async function countNews(tx: Tx, agent: AgentRow): Promise<number> {
  const pending = await tx.countPendingNews({ agentId: agent.id });
  if (!pending?.n || !toolsInScope(agent).some((tool) => tool.name === 'check_inbox')) return 0;
  return chooseNews(await tx.listPendingHeads({ agentId: agent.id, limit: 1000 })).length;
}
