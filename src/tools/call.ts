import { randomUUID } from 'node:crypto';
import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { isInScope } from '../core/scope.ts';
import { within } from '../core/tracing.ts';
import { type ActiveAttempt, advance, record, stepOf } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import { findTool } from './catalog.ts';
import { callCustom } from './custom-call.ts';
import type { CallResult, ToolDependencies } from './dependencies.ts';
import {
  type Call,
  callEntry,
  callKey,
  callsMade,
  checkScope,
  countNews,
  NotInScope,
  parseInput,
  refuse,
  refuseEarly,
  reportError,
  returnEntry,
  tooMany,
} from './recorded.ts';
import type { Tool, ToolOutcome } from './tool.ts';

export type { CallResult, ToolDependencies } from './dependencies.ts';

/** One program that calls tools for an attempt; several can share that of an external agent. */
export interface Connection {
  /** The requests that `check_inbox` returned to it and that it has not answered. */
  readonly given: Set<string>;
}

/**
 * Executes one tool call for an attempt: validates, runs and records it in one transaction, so that an interrupted
 * call leaves nothing behind. A script's effects are outside the transaction (`custom-call.ts`). Returns null for a
 * tool that is not in the attempt's scope.
 */
export async function callTool(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  name: string,
  args: unknown,
  connection: Connection = { given: new Set() },
  /** Of a caller that knows its own calls: it repeats none. */
  callId?: string,
): Promise<CallResult | null> {
  if (!isInScope(attempt.widest, name)) return null;
  const own = findTool(name);
  const custom = own ? undefined : (await deps.settings.customTools()).find((one) => one.name === name);
  if (!own && !custom) return null;
  const id = callId ?? randomUUID();
  const span = attempt.spans?.tool(stepOf(attempt.progress, 'tool_call_message'), name, id);
  const call = {
    args: args ?? {},
    id,
    isNew: callId !== undefined,
    wait: deps.limiter.take(attempt.agentId, deps.clock()),
  };
  const work = async () =>
    custom
      ? callCustom(deps, attempt, { ...call, tool: custom })
      : carryOut(deps, attempt, { ...call, tool: own as Tool, connection });
  try {
    return await (span ? within(span, work) : work());
  } catch (error) {
    if (error instanceof NotInScope) return null;
    throw error;
  }
}

async function carryOut(deps: ToolDependencies, attempt: ActiveAttempt, call: OwnCall): Promise<CallResult> {
  const { agentId } = attempt;
  const { tool } = call;
  let undo = async (): Promise<void> => {};
  try {
    refuseEarly(call, attempt, tool);
    await attempt.flush();
    const input = parseInput(call);
    let looked: unknown;
    if (tool.prepare || tool.look) {
      // Work outside the store must not run for a turn that has ended, beyond the rate limit, or twice.
      const { agent, repeated } = await deps.store.read(async (tx) => {
        await tx.runs.holdRun(attempt);
        await checkScope(tx, attempt, tool.name);
        return {
          agent: (await tx.agents.getAgent({ id: agentId })) as Agent,
          repeated: await repeatOf(tx, attempt, call, callKey(tool.name, input)),
        };
      });
      if (call.wait !== null && !repeated) throw tooMany(call.wait);
      const { store, settings } = deps;
      const preparation = { agent, store, settings };
      if (!repeated) {
        undo = (await tool.prepare?.(preparation, input as never)) ?? undo;
        looked = await tool.look?.(preparation, input as never);
      }
    }
    const { outcome, news } = await execute(deps, attempt, call, { input, looked });
    for (const id of outcome.given ?? []) call.connection.given.add(id);
    if (outcome.settled) call.connection.given.delete(outcome.settled);
    if (outcome.reply && call.wait === null) deps.limiter.giveBack(agentId);
    // The agent exists even if this fails; its directory is created again before its first run.
    if (outcome.created) await deps.onAgentCreated(outcome.created).catch((error: unknown) => reportError(deps, error));
    if (outcome.workspace)
      await deps.onWorkspaceChanged(outcome.workspace).catch((error: unknown) => reportError(deps, error));
    return { result: outcome.result, isError: false, news };
  } catch (error) {
    await undo();
    return refuse(deps, attempt, call, error);
  }
}

type OwnCall = Call & { readonly tool: Tool; readonly connection: Connection };

async function execute(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  call: OwnCall,
  { input, looked }: { readonly input: unknown; readonly looked: unknown },
): Promise<{ outcome: ToolOutcome; news: number }> {
  const { tool } = call;
  const key = callKey(tool.name, input);
  const now = deps.clock();
  const executed = await deps.store.write(async (tx) => {
    const run = await tx.runs.holdRun(attempt);
    await checkScope(tx, attempt, tool.name);
    const agent = (await tx.agents.getAgent({ id: attempt.agentId })) as Agent;
    const repeated = await repeatOf(tx, attempt, call, key);
    if (call.wait !== null && !tool.mayReply && !repeated) throw tooMany(call.wait);
    const outcome =
      repeated ??
      (await tool.run(
        {
          tx,
          agent,
          run,
          attempt,
          settings: deps.settings,
          now,
          given: [...call.connection.given],
          looked: looked as never,
        },
        input as never,
      ));
    if (call.wait !== null && !outcome.reply && !repeated) throw tooMany(call.wait);
    const { result } = outcome;
    const entries = [callEntry(call, input), returnEntry(call, { key, result, effect: tool.effect && !repeated })];
    const progress = await record(tx, attempt, entries, now);
    return { outcome, progress, news: await countNews(tx, attempt) };
  });
  advance(attempt, executed.progress);
  attempt.limited = false;
  return executed;
}

/**
 * The k-th identical call gets the result of the k-th one of earlier attempts. Only recorded calls count, because a
 * call whose commit failed did not happen.
 */
async function repeatOf(tx: Tx, attempt: Attempt, call: OwnCall, key: string): Promise<ToolOutcome | null> {
  if (call.isNew || !call.tool.effect || attempt.number === 1) return null;
  const nth = await callsMade(tx, attempt, key);
  const effect = (await tx.records.listEffects({ runId: attempt.runId, callKey: key }))[nth];
  if (!effect) return null;
  return { result: { ...(effect.content as Record<string, unknown>), repeated: true } };
}
