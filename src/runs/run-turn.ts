import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { SubstratError } from '../core/errors.ts';
import { troubleOf } from '../core/failure.ts';
import type { Live } from '../core/live.ts';
import type { PersonaPrompt } from '../core/persona.ts';
import type { Run } from '../core/run.ts';
import { cleanText } from '../core/text.ts';
import { errorCode, inSpan, under } from '../core/tracing.ts';
import type { Launch, Provider, ProviderEvent, Turn } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import { type ActiveAttempt, advance, takePersona } from './attempt.ts';
import { conversationOf } from './conversation.ts';
import { type Correspondence, completeRun, dropSession, type Failure, failAttempt } from './endings.ts';
import { EventBatch } from './event-batch.ts';
import { createKeeper } from './keep-told.ts';
import { type Started, writePrompt } from './start.ts';
import { isStored, type Told } from './told.ts';
import type { Tx } from './tx.ts';
import { type Patience, untilStored } from './until-stored.ts';

export interface TurnDependencies {
  readonly store: Store;
  readonly clock: () => number;
  readonly correspondence: Correspondence;
  readonly provider: (name: string) => Provider | null;
  /** Opens the run's own socket; its calls act for this attempt only. */
  readonly openDoor: (attempt: ActiveAttempt) => Promise<Door>;
  /** The current prompt of the agent's persona; null if it has none. Throws if it cannot be resolved. */
  readonly askPersona: AskPersona;
  /** Prices per million tokens, for providers that report no cost. */
  readonly prices: (provider: string, model: string | null) => Prices | null;
  /** Who follows turns while they run. */
  readonly live: Live;
  readonly maxAttempts: number;
  readonly turnTimeoutMs: number;
  readonly log: { warn(details: object, message: string): void };
}

/** Resolves immediately for agents without a persona. */
export type AskPersona = (agent: Agent, limits: { readonly timeoutMs: number }) => Promise<PersonaPrompt | null>;

export interface Prices {
  readonly input: number;
  readonly output: number;
}

/** The connection of an active attempt. */
export interface Door {
  readonly tools: Turn['tools'];
  readonly launch: Omit<Launch, 'program' | 'onSpawn'>;
  close(): Promise<void>;
}

type TurnEnd =
  | { readonly finalText: string; readonly stopReason?: 'max_steps' | undefined }
  | { readonly failure: Failure }
  | 'cancelled';

/** Executes one attempt from its claim to its end. Never throws: the outcome is in the store. */
export async function runTurn(deps: TurnDependencies, started: Started, signal: AbortSignal): Promise<void> {
  const { spans } = started.attempt;
  if (!spans) return void (await attemptTurn(deps, started, signal));
  try {
    const outcome = await under(spans.run, () => attemptTurn(deps, started, signal));
    if (outcome === 'cancelled') spans.end('cancelled');
    else if ('failure' in outcome) spans.end('failed', outcome.failure.kind);
    else spans.end('completed');
  } catch (error) {
    spans.end('failed', errorCode(error));
    throw error;
  }
}

async function attemptTurn(deps: TurnDependencies, started: Started, signal: AbortSignal): Promise<TurnEnd> {
  const { attempt } = started;
  let outcome: TurnEnd;
  try {
    const instructions = started.instructions ?? (await instruct(deps, started, signal));
    if (instructions === null) outcome = 'cancelled';
    else {
      const door = await deps.openDoor(attempt);
      try {
        outcome = await execute(deps, { ...started, instructions }, door, signal);
      } finally {
        await door.close();
      }
    }
  } catch (error) {
    outcome = isFenced(error)
      ? 'cancelled'
      : { failure: { kind: kindOf(error), message: cleanText((error as Error).message) } };
  }
  await settle(deps, attempt, outcome, signal);
  return outcome;
}

/** Resolves the agent's persona for this run and records the prompt. Returns null if the run was ended meanwhile. */
async function instruct(deps: TurnDependencies, started: Started, signal: AbortSignal): Promise<string | null> {
  const { attempt, agent, prompt } = started;
  const { promise: ended, resolve: end } = Promise.withResolvers<'ended'>();
  const onAbort = () => end('ended');
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const asked = inSpan('ask_persona', { 'substrat.persona': agent.persona ?? '' }, () =>
      deps.askPersona(agent, { timeoutMs: deps.turnTimeoutMs }),
    );
    const persona = await Promise.race([asked, ended]);
    if (persona === 'ended') return null;
    takePersona(attempt, persona);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  const written = await deps.store.write(async (tx) => {
    await tx.runs.holdRun(attempt);
    return writePrompt(tx, attempt, agent, prompt, deps.clock());
  });
  advance(attempt, written.progress);
  return written.instructions;
}

async function execute(
  deps: TurnDependencies,
  { attempt, agent, session, messages, journal, instructions, prompt }: Started & { readonly instructions: string },
  { tools, launch }: Door,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const provider = deps.provider(agent.provider);
  if (!provider) {
    const message = `There is no provider "${agent.provider}". See [providers] and \`substrat agent create --help\`.`;
    return { failure: { kind: 'invalid_request', message } };
  }
  const write = <T>(work: (tx: Tx, run: Run) => Promise<T>): Promise<T> =>
    deps.store.write(async (tx) => work(tx, await tx.runs.holdRun(attempt)));
  const events = provider.runTurn({
    runId: attempt.runId,
    agentId: agent.id,
    name: agent.name,
    model: agent.model,
    workspace: agent.workspace,
    session,
    instructions,
    prompt,
    messages,
    journal,
    timeoutMs: deps.turnTimeoutMs,
    signal,
    tools,
    conversation: conversationOf(deps.store, attempt, deps.clock),
    launch: {
      ...launch,
      program: agent.program,
      onSpawn: async ({ pid, startedAt }) => {
        await write((tx) => tx.runs.setRunProcess({ id: attempt.runId, pid, startedAt }));
      },
    },
  });
  const keep = createKeeper(attempt);
  const batch = new EventBatch(async (told) => {
    const progress = await write((tx, run) => keep(tx, run, told, deps.clock()));
    advance(attempt, progress);
    for (const event of told) trace(attempt, event);
  });
  attempt.flush = () => batch.flush();
  const patience = patienceFor(deps, attempt, signal, "a provider's event could not be stored");
  const flush = () => untilStored(attempt.flush, patience);
  try {
    for await (const event of events) {
      show(deps.live, attempt, event);
      if (event.type === 'done' || event.type === 'error') await flush();
      if (event.type === 'done') return { finalText: cleanText(event.text), stopReason: event.stopReason };
      if (event.type === 'error') return failureOf(event, session);
      if (isStored(event) && batch.add(withCost(event, (model) => deps.prices(agent.provider, model ?? agent.model))))
        await flush();
    }
    await flush();
  } finally {
    batch.close();
  }
  return { failure: { kind: 'crash', message: `The provider "${agent.provider}" ended without a result.` } };
}

function patienceFor(
  { store, log }: TurnDependencies,
  { runId }: ActiveAttempt,
  signal: AbortSignal,
  what: string,
): Patience {
  return { store, signal, onFailure: ({ message }) => log.warn({ runId, error: message }, what) };
}

/** Passes on what the turn does at this moment, calls of our own tools included. */
function show({ publish }: Live, { runId, agentId, number: attempt }: Attempt, event: ProviderEvent): void {
  const run = { runId, agentId, attempt };
  if (event.type === 'delta') publish({ ...run, type: 'live_text', text: event.text });
  if (event.type === 'tool_call') {
    publish({ ...run, type: 'live_tool_call', tool: event.name, text: JSON.stringify(event.arguments) ?? '' });
  }
  if (event.type === 'tool_result') {
    const text = typeof event.result === 'string' ? event.result : (JSON.stringify(event.result) ?? '');
    publish({ ...run, type: 'live_tool_result', text, isError: event.isError });
  }
}

/** Computes the cost from prices per million tokens if the provider does not report it. */
function withCost<E extends ProviderEvent>(event: E, pricesOf: (model: string | undefined) => Prices | null): E {
  if (event.type !== 'usage' || event.costUsd !== undefined) return event;
  const prices = pricesOf(event.model);
  if (prices === null) return event;
  const costUsd = (event.inputTokens * prices.input + event.outputTokens * prices.output) / 1_000_000;
  return { ...event, costUsd };
}

function trace({ spans, progress }: ActiveAttempt, event: Told): void {
  if (event.type === 'tool_call') spans?.called(progress.step, event.name, event.id);
  if (event.type === 'tool_result') spans?.returned(event.id, event.isError);
  if (event.type === 'usage') spans?.used(event.inputTokens, event.outputTokens);
}

function failureOf(event: Extract<ProviderEvent, { type: 'error' }>, resumed: string | null): TurnEnd {
  if (event.kind === 'cancelled') return 'cancelled';
  const { message, retryAfterMs } = event;
  // If no session was resumed, none can be unknown: the provider is broken, and that counts as a failure.
  const kind = event.kind === 'bad_session' && resumed === null ? 'crash' : event.kind;
  return { failure: { kind, message: cleanText(message), ...(retryAfterMs !== undefined && { retryAfterMs }) } };
}

/** Stores the end, with as many retries as needed: a full disk must not leave an agent busy forever. */
async function settle(
  deps: TurnDependencies,
  attempt: ActiveAttempt,
  outcome: TurnEnd,
  signal: AbortSignal,
): Promise<void> {
  const patience = patienceFor(deps, attempt, signal, 'the end of a turn could not be stored');
  try {
    await untilStored(() => deps.store.write((tx) => end(tx, deps, attempt, outcome)), patience);
  } catch (error) {
    // Fenced: cancelled, terminated or taken over, which stored the end. Otherwise the next start does.
    if (isFenced(error)) return;
    deps.log.warn({ runId: attempt.runId, error: (error as Error).message }, 'the end of a turn is left to recovery');
  }
}

async function end(tx: Tx, deps: TurnDependencies, attempt: ActiveAttempt, outcome: TurnEnd): Promise<void> {
  const now = deps.clock();
  if (outcome !== 'cancelled' && 'finalText' in outcome) {
    return completeRun(tx, deps.correspondence, attempt, outcome, now);
  }
  const run = await tx.runs.holdRun(attempt);
  // Cancelled, but the run is still ours: the daemon is stopping, which is not a failure.
  const failure: Failure =
    outcome === 'cancelled' ? { kind: 'daemon_stopped', message: 'The daemon was stopped.' } : outcome.failure;
  if (failure.kind === 'bad_session') await dropSession(tx, deps.correspondence, attempt, now);
  await failAttempt(tx, deps.correspondence, run, failure, { maxAttempts: deps.maxAttempts }, now);
}

/** Something that a person must fix first, such as an unavailable sandbox or a missing persona, is not a crash. */
function kindOf(error: unknown): Failure['kind'] {
  const trouble = troubleOf(error);
  if (trouble) return trouble;
  if (!(error instanceof SubstratError)) return 'crash';
  if (error.code === 'timeout') return 'timeout';
  return ['bad_request', 'forbidden', 'not_found', 'unsupported'].includes(error.code) ? 'invalid_request' : 'crash';
}

function isFenced(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'fenced';
}
