import { SubstratError } from '../core/errors.ts';
import type { Attempt } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import type { CallResult, ToolDependencies } from './call.ts';
import type { CustomTool } from './custom.ts';
import {
  type Call,
  callKey,
  countNews,
  parseInput,
  recordCall,
  recordReturn,
  refuse,
  refuseEarly,
  tooMany,
} from './recorded.ts';

/** Of what a script answers, a turn gets no more than so many characters: all of it is recorded, and fills its context. */
const MOST_CHARACTERS = 200_000;

/**
 * Executes a call of a custom tool for an attempt. What it does is in no transaction of ours, so its start is written down
 * before and its end afterwards; of a start without an end nobody knows what came, and a later attempt is told so once.
 */
export async function callCustom(
  deps: ToolDependencies,
  attempt: Attempt,
  call: Call & { readonly tool: CustomTool },
): Promise<CallResult> {
  const { tool } = call;
  let started = false;
  try {
    refuseEarly(call, attempt, { effect: true });
    const input = parseInput(call);
    const key = callKey(tool.name, input);
    const repeated = await deps.store.write(async (tx) => {
      await tx.holdRun(attempt);
      const earlier = await earlierCall(tx, attempt, key);
      if (!earlier && call.wait !== null) throw tooMany(call.wait);
      attempt.calls.set(key, (attempt.calls.get(key) ?? 0) + 1);
      if (earlier?.content === null) throw unknownOutcome(tool.name);
      const now = deps.clock();
      attempt.limited = false;
      if (!earlier) return recordCall(tx, attempt, { ...call, args: input, key }, now);
      const result = { ...(JSON.parse(earlier.content) as Record<string, unknown>), repeated: true };
      await recordCall(tx, attempt, { ...call, args: input }, now);
      await recordReturn(tx, attempt, call, { result }, now);
      return { result, isError: false, news: await countNews(tx, attempt) };
    });
    if (repeated) return repeated;
    started = true;
    const result = withinReason(await tool.call(input));
    const news = await deps.store.write(async (tx) => {
      await tx.holdRun(attempt);
      await recordReturn(tx, attempt, call, { key, result, effect: true }, deps.clock());
      return countNews(tx, attempt);
    });
    return { result, isError: false, news };
  } catch (error) {
    return refuse(deps, attempt, call, error, started);
  }
}

/** The k-th identical call gets the k-th start of earlier attempts, unless that failed: what failed is done afresh. */
async function earlierCall(tx: Tx, attempt: Attempt, key: string): Promise<{ readonly content: string | null } | null> {
  if (attempt.number === 1) return null;
  const starts = await tx.listStarts({ runId: attempt.runId, callKey: key, attempt: attempt.number });
  return starts.filter(({ is_error }) => is_error !== 1)[attempt.calls.get(key) ?? 0] ?? null;
}

function unknownOutcome(name: string): SubstratError {
  return new SubstratError(
    'outcome_unknown',
    `outcome unknown: an earlier attempt of this turn called ${name} with the same parameters and was cut off before the answer came. It may have had its effect; look before you call it again, which will execute it.`,
  );
}

function withinReason(value: unknown): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= MOST_CHARACTERS) return { result: value };
  return { result: `${text.slice(0, MOST_CHARACTERS)}…`, truncated: true };
}
