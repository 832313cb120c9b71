import { hash, randomUUID } from 'node:crypto';
import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { SubstratError } from '../core/errors.ts';
import type { Arguments } from '../core/question.ts';
import { isInScope } from '../core/scope.ts';
import { within } from '../core/tracing.ts';
import { type ActiveAttempt, advance, record, stepOf } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import { findTool } from './catalog.ts';
import { callCustom } from './custom-call.ts';
import type { CallResult, ToolDependencies } from './dependencies.ts';
import { checkPolicy, type Held, mayProceed } from './policy.ts';
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
  attempt.calling.set(id, name);
  try {
    const returned = await (span ? within(span, work) : work());
    attempt.loops.returned(name, resultKey(args, returned), deps.clock());
    return returned;
  } catch (error) {
    if (error instanceof NotInScope) return null;
    throw error;
  } finally {
    attempt.calling.delete(id);
  }
}

/** Equal keys mean the same arguments and the same result. */
function resultKey(args: unknown, { result }: CallResult): string {
  return hash('sha256', JSON.stringify([args, result]) ?? '');
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
    let prepared = true;
    if (tool.prepare || tool.look) {
      // Work outside the store must not run for a turn that has ended, beyond the rate limit, or twice.
      const { store, settings } = deps;
      const { agent, repeated, proceeds } = await store.read(async (tx) => {
        await tx.runs.holdRun(attempt);
        await checkScope(tx, attempt, tool.name);
        const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
        const key = callKey(tool.name, input);
        const repeated = await repeatOf(tx, attempt, call, key);
        const judged = { agent, tool, input };
        return { agent, repeated, proceeds: !repeated && (await mayProceed(tx, settings, judged, deps.clock())) };
      });
      if (call.wait !== null && !repeated) throw tooMany(call.wait);
      prepared = proceeds;
      const preparation = { agent, store, settings };
      if (proceeds) {
        undo = (await tool.prepare?.(preparation, input as never)) ?? undo;
        looked = await tool.look?.(preparation, input as never);
      }
    }
    const { outcome, news, held } = await execute(deps, attempt, call, { input, looked, prepared });
    if (held) return { result: { ...held }, isError: true, news };
    for (const id of outcome.given ?? []) call.connection.given.add(id);
    if (outcome.settled) call.connection.given.delete(outcome.settled);
    if (outcome.reply && call.wait === null) deps.limiter.giveBack(agentId);
    if (outcome.claimed) deps.onClaimed(agentId);
    // The agent exists even if this fails; its directory is created again before its first run.
    if (outcome.created) await deps.onAgentCreated(outcome.created).catch((error: unknown) => reportError(deps, error));
    if (outcome.terminated)
      await deps.onTerminated(outcome.terminated).catch((error: unknown) => reportError(deps, error));
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
  { input, looked, prepared }: { readonly input: Arguments; readonly looked: unknown; readonly prepared: boolean },
): Promise<{ outcome: ToolOutcome; news: number; held: Held | null }> {
  const { tool } = call;
  const key = callKey(tool.name, input);
  const now = deps.clock();
  const executed = await deps.store.write(
    async (tx) => {
      const [run, agent] = await Promise.all([
        tx.runs.holdRun(attempt),
        tx.agents.getAgent({ id: attempt.agentId }) as Promise<Agent>,
        checkScope(tx, attempt, tool.name),
      ]);
      const repeated = await repeatOf(tx, attempt, call, key);
      if (call.wait !== null && !tool.mayReply && !repeated) throw tooMany(call.wait);
      const judged = { agent, run, tool, input };
      const held = repeated ? null : await checkPolicy(tx, deps.settings, judged, now);
      if (held) {
        const refused = [callEntry(call, input), returnEntry(call, { result: held, isError: true })];
        const progress = await record(tx, attempt, refused, now);
        return { outcome: { result: {} }, held, progress, news: await countNews(tx, attempt) };
      }
      if (!prepared && !repeated) {
        throw new SubstratError('conflict', 'A person has just approved this call. Call it again.');
      }
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
      return { outcome, held, progress, news: await countNews(tx, attempt) };
    },
    `call of ${tool.name} by ${attempt.agentId}`,
    `tree ${attempt.treeId}`,
  );
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
