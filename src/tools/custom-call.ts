import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { SubstratError } from '../core/errors.ts';
import { type ActiveAttempt, advance, record } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import type { CustomTool } from './custom.ts';
import type { CallResult, ToolDependencies } from './dependencies.ts';
import { checkPolicy } from './policy.ts';
import {
  type Call,
  callEntry,
  callKey,
  callsMade,
  checkScope,
  countNews,
  parseInput,
  refuse,
  refuseEarly,
  returnEntry,
  tooMany,
} from './recorded.ts';

/** Maximum number of characters of a script's result in a turn: all of it is recorded and fills the context. */
const MOST_CHARACTERS = 200_000;

/**
 * Executes a call of a custom tool for an attempt. Its effects are outside our transactions, so its start is recorded
 * before and its end afterwards. For a start without an end the outcome is unknown, and a later attempt gets that
 * error once.
 */
export async function callCustom(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  call: Call & { readonly tool: CustomTool },
): Promise<CallResult> {
  const { tool } = call;
  let started = false;
  let counted: { readonly key?: string } = {};
  try {
    refuseEarly(call, attempt, { effect: true });
    await attempt.flush();
    const input = parseInput(call);
    const key = callKey(tool.name, input);
    const begun = await deps.store.write(async (tx) => {
      const run = await tx.runs.holdRun(attempt);
      await checkScope(tx, attempt, tool.name);
      const earlier = call.isNew ? null : await earlierCall(tx, attempt, key);
      if (!earlier && call.wait !== null) throw tooMany(call.wait);
      if (earlier?.content === null) return { progress: null, unknown: true };
      const now = deps.clock();
      if (!earlier) {
        const agent = (await tx.agents.getAgent({ id: attempt.agentId })) as Agent;
        const held = await checkPolicy(tx, deps.settings, { agent, run, tool, input }, now);
        if (!held) return { progress: await record(tx, attempt, [callEntry(call, input, key)], now) };
        const refused = [callEntry(call, input), returnEntry(call, { result: held, isError: true })];
        const progress = await record(tx, attempt, refused, now);
        return { progress, repeated: { result: { ...held }, isError: true, news: await countNews(tx, attempt) } };
      }
      const result = { ...(earlier.content as Record<string, unknown>), repeated: true };
      const entries = [callEntry(call, input), returnEntry(call, { key, result })];
      const progress = await record(tx, attempt, entries, now);
      return { progress, repeated: { result, isError: false, news: await countNews(tx, attempt) } };
    }, `tree ${attempt.treeId}`);
    if (begun.unknown) {
      counted = { key };
      throw unknownOutcome(tool.name);
    }
    advance(attempt, begun.progress);
    attempt.limited = false;
    if (begun.repeated) return begun.repeated;
    started = true;
    const result = cutResult(await tool.call(input));
    const ended = await deps.store.write(async (tx) => {
      await tx.runs.holdRun(attempt);
      const entry = returnEntry(call, { key, result, effect: true });
      return {
        progress: await record(tx, attempt, [entry], deps.clock()),
        news: await countNews(tx, attempt),
      };
    }, `tree ${attempt.treeId}`);
    advance(attempt, ended.progress);
    return { result, isError: false, news: ended.news };
  } catch (error) {
    return refuse(deps, attempt, call, error, { started, ...counted });
  }
}

/** The k-th identical call corresponds to the k-th start of earlier attempts. A failed call is executed again. */
async function earlierCall(tx: Tx, attempt: Attempt, key: string): Promise<{ readonly content: unknown } | null> {
  if (attempt.number === 1) return null;
  const starts = await tx.records.listStarts({ runId: attempt.runId, callKey: key, attempt: attempt.number });
  return starts.filter(({ isError }) => !isError)[await callsMade(tx, attempt, key)] ?? null;
}

function unknownOutcome(name: string): SubstratError {
  return new SubstratError(
    'outcome_unknown',
    `outcome unknown: an earlier attempt of this turn called ${name} with the same parameters and was interrupted before the result arrived. It may have taken effect. Check before you call it again: the next call will execute it.`,
  );
}

function cutResult(value: unknown): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= MOST_CHARACTERS) return { result: value };
  return { result: `${text.slice(0, MOST_CHARACTERS)}…`, truncated: true };
}
