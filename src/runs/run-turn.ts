import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { SubstratError } from '../core/errors.ts';
import { troubleOf } from '../core/failure.ts';
import type { Guard } from '../core/guard.ts';
import type { Live } from '../core/live.ts';
import type { PersonaPrompt } from '../core/persona.ts';
import type { Run } from '../core/run.ts';
import { cleanText } from '../core/text.ts';
import { errorCode, inSpan, under } from '../core/tracing.ts';
import type { Prices, UsageGrade } from '../core/usage.ts';
import type { SavedWork } from '../core/wip.ts';
import type { Launch, Provider, ProviderEvent, Turn } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import { admitRequests } from './admission.ts';
import { type ActiveAttempt, advance, takePersona } from './attempt.ts';
import { unparkAll } from './budget-parking.ts';
import { watchBudgets } from './budget-watch.ts';
import { settleFinally, settleSoFar } from './budgets.ts';
import { conversationOf } from './conversation.ts';
import type { EchoWatch } from './echoes.ts';
import { type Correspondence, completeRun, dropSession, failAttempt } from './endings.ts';
import { EventBatch } from './event-batch.ts';
import type { Failure } from './failure.ts';
import { createKeeper } from './keep-told.ts';
import { openNewsFeed, returnUntaken } from './news.ts';
import type { Activity, ProgressWatch, TurnSigns } from './progress.ts';
import { reachLimit, type SeatRules } from './seats.ts';
import { type Started, writePrompt } from './start.ts';
import { isStored, type Told } from './told.ts';
import { countRest, note, type Seen, settleUsage, type Used, withCost } from './turn-usage.ts';
import type { Tx } from './tx.ts';
import { type Patience, untilStored } from './until-stored.ts';

export interface TurnDependencies {
  readonly store: Store;
  readonly clock: () => number;
  readonly correspondence: Correspondence;
  readonly provider: (name: string, account: string) => Provider | null;
  readonly seats: SeatRules;
  /** Judges the calls of the program's own tools; null if all are allowed. Throws if the provider cannot enforce it. */
  readonly guard: (attempt: ActiveAttempt, agent: Agent, provider: Provider) => Promise<Guard | null>;
  /** Opens the run's own socket; its calls act for this attempt only. The agent is as it was when the turn began. */
  readonly openDoor: (attempt: ActiveAttempt, agent: Agent) => Promise<Door>;
  /** The current prompt of the agent's persona; null if it has none. Throws if it cannot be resolved. */
  readonly askPersona: AskPersona;
  /** Prices per million tokens, for providers that report no cost. */
  readonly prices: (provider: string, model: string | null) => Prices | null;
  /** Stores the agent's session, so that another node could resume it. Null if it is not stored. */
  readonly saveSession: (agent: Agent) => Promise<string | null>;
  /** Pushes the files of a git workspace; null for other workspaces. */
  readonly saveWork: (agent: Agent, runId: string) => Promise<SavedWork | null>;
  /** Another process ends the group if this one falls silent, until the returned function is called. */
  readonly watch: (group: { readonly pid: number; readonly startedAt: string }) => () => void;
  /** Who follows turns while they run. */
  readonly live: Live;
  readonly maxAttempts: number;
  /** How long a turn may finish its tool calls when a budget is used up. */
  readonly stopAfterMs: number;
  readonly turnTimeoutMs: number;
  /** Follows whether turns make progress. */
  readonly progress: Pick<ProgressWatch, 'open'>;
  readonly echoes: Pick<EchoWatch, 'completed'>;
  readonly log: { warn(details: object, message: string): void };
}

/** Resolves immediately for agents without a persona. */
export type AskPersona = (agent: Agent, limits: { readonly timeoutMs: number }) => Promise<PersonaPrompt | null>;

/** The connection of an active attempt. */
export interface Door {
  readonly tools: Turn['tools'];
  readonly launch: Omit<Launch, 'program' | 'onSpawn'>;
  /** Aborted when the turn exceeded a limit of the machine; the reason is an error that says which. */
  readonly exceeded: AbortSignal;
  /** What its processes have used so far. */
  readonly activity: () => Activity;
  close(): Promise<void>;
}

type TurnEnd =
  | {
      readonly finalText: string;
      readonly stopReason?: 'max_steps' | undefined;
      readonly snapshot?: string | null;
      readonly work?: SavedWork | null;
    }
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
  const signs = deps.progress.open(attempt, started.agent.provider);
  try {
    return await followTurn(deps, started, signs, signal);
  } finally {
    signs.close();
  }
}

async function followTurn(
  deps: TurnDependencies,
  started: Started,
  signs: TurnSigns,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const { attempt } = started;
  const seen: Seen = { isSpawned: false, characters: 0, isCounted: false };
  let outcome: TurnEnd;
  try {
    const instructions = started.instructions ?? (await instruct(deps, started, signal));
    if (instructions === null) outcome = 'cancelled';
    else {
      const door = await deps.openDoor(attempt, started.agent);
      try {
        signs.follow(door.activity);
        outcome = await execute(deps, { ...started, instructions }, door, { seen, signs }, signal);
        outcome = withExcess(outcome, door.exceeded, signal);
      } finally {
        // Answers of the model that are still on their way are counted when it closes.
        await door.close();
      }
      // No process of the turn is left. The transaction that completes the run says which state the snapshot has.
      if (outcome !== 'cancelled' && 'finalText' in outcome) {
        const { agent } = started;
        const [snapshot, work] = await Promise.all([deps.saveSession(agent), deps.saveWork(agent, attempt.runId)]);
        outcome = { ...outcome, snapshot, work };
      }
    }
  } catch (error) {
    outcome = isFenced(error)
      ? 'cancelled'
      : { failure: { kind: kindOf(error), message: cleanText((error as Error).message) } };
  }
  if (attempt.refused) outcome = 'cancelled';
  else if (mayHaveUsed(outcome)) countRest(deps, started, seen);
  const patience = patienceFor(deps, attempt, signal, 'what an attempt used could not be stored');
  await settleUsage(
    deps,
    attempt,
    patience,
    attempt.budgeted ? (tx) => charge(tx, deps, attempt, outcome, seen) : null,
  );
  await settle(deps, attempt, outcome, signal);
  if (outcome !== 'cancelled' && 'finalText' in outcome) {
    const unsaid = (error: Error) => deps.log.warn({ error: error.message }, 'a person could not be told of a loop');
    await deps.echoes.completed(started, outcome.finalText).catch(unsaid);
  }
  return outcome;
}

/** The final charge of what the attempt used. A program that was cut off has no final number, unless the daemon counted. */
async function charge(
  tx: Tx,
  deps: TurnDependencies,
  attempt: ActiveAttempt,
  outcome: TurnEnd,
  { characters }: Seen,
): Promise<void> {
  const now = deps.clock();
  const counted = (grade: UsageGrade) => {
    const { inputTokens = 0, outputTokens = 0 } = attempt.usage.of(grade) ?? {};
    return inputTokens + outputTokens > 0;
  };
  const isCut = outcome === 'cancelled' || ('failure' in outcome && mayHaveUsed(outcome));
  const about = deps.provider(attempt.session.provider, attempt.session.account)?.about;
  // A person's own program uses what it says.
  const isOwn = about?.runsOwnProgram === true && !isCut;
  const isFinal =
    !attempt.begun ||
    isOwn ||
    // All its requests were counted.
    attempt.refused ||
    (!mayHaveUsed(outcome) && characters === 0) ||
    counted('metered') ||
    (!isCut && counted('reported'));
  const final = { usage: attempt.usage.sum(), isFinal };
  const released = await settleFinally(tx, deps.correspondence, attempt, final, now);
  await unparkAll(tx, deps.correspondence, released, now);
}

/** Resolves the agent's persona for this run and records the prompt. Returns null if the run was ended meanwhile. */
async function instruct(deps: TurnDependencies, started: Started, signal: AbortSignal): Promise<string | null> {
  const { attempt, agent } = started;
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
    return writePrompt(tx, started, deps.clock());
  }, `tree ${agent.treeId}`);
  advance(attempt, written.progress);
  return written.instructions;
}

async function execute(
  deps: TurnDependencies,
  { attempt, agent, session, messages, journal, instructions, prompt }: Started & { readonly instructions: string },
  { tools, launch, exceeded }: Door,
  { seen, signs }: { readonly seen: Seen; readonly signs: TurnSigns },
  signal: AbortSignal,
): Promise<TurnEnd> {
  const provider = deps.provider(agent.provider, agent.account);
  if (!provider) {
    const message = `There is no provider "${agent.provider}". See [providers] and \`substrat agent create --help\`.`;
    return { failure: { kind: 'invalid_request', message } };
  }
  const guard = await deps.guard(attempt, agent, provider);
  const write = <T>(work: (tx: Tx, run: Run) => Promise<T>): Promise<T> =>
    deps.store.write(async (tx) => work(tx, await tx.runs.holdRun(attempt)), `tree ${agent.treeId}`);
  const { store, clock, log } = deps;
  const news = openNewsFeed({ store, attempt, clock, write, log });
  const lost = new AbortController();
  const watched: (() => void)[] = [];
  const watch = watchBudgets({
    settle: async () => {
      const { exhausted, planned } = await deps.store.write(
        (tx) => settleSoFar(tx, deps.correspondence, attempt, attempt.usage.sum(), deps.clock()),
        `tree ${agent.treeId}`,
      );
      for (const [budgetId, reserved] of planned) attempt.admitted.planned.set(budgetId, reserved);
      return exhausted;
    },
    stopAfterMs: deps.stopAfterMs,
    onStop: (exhausted) => {
      attempt.exhausted = exhausted;
    },
    onFailure: ({ message }) => log.warn({ runId: attempt.runId, error: message }, 'a budget could not be charged'),
  });
  attempt.checkBudgets = watch.check;
  const count = (grade: UsageGrade, used: Used) => {
    attempt.usage.add(
      grade,
      withCost(used, (model) => deps.prices(agent.provider, model ?? agent.model)),
    );
    if (attempt.budgeted) watch.used();
  };
  let isDone = false;
  attempt.begun = true;
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
    signal: AbortSignal.any([signal, lost.signal, exceeded, watch.signal]),
    tools,
    guard,
    admit: admitRequests({
      attempt,
      store,
      clock,
      price: (model) => deps.prices(agent.provider, model ?? agent.model),
      refuse: (exhausted) => {
        // What a program asks after its answer does not matter.
        if (isDone) return;
        attempt.refused = true;
        watch.refuse(exhausted);
      },
    }),
    meter: ({ model, ...used }) => {
      if (used.inputTokens + used.outputTokens > 0) count('metered', { ...used, ...(model !== null && { model }) });
    },
    conversation: conversationOf(deps.store, attempt, deps.clock),
    news,
    launch: {
      ...launch,
      program: agent.program,
      onSpawn: async ({ pid, startedAt }) => {
        seen.isSpawned = true;
        watched.push(deps.watch({ pid, startedAt }));
        await write((tx) => tx.runs.setRunProcess({ id: attempt.runId, pid, startedAt }));
      },
    },
  });
  const keep = createKeeper(attempt);
  const batch = new EventBatch(async (told) => {
    const { progress, stored } = await write(async (tx) => ({
      progress: await keep(tx, told, deps.clock()),
      stored: attempt.usage.isStored ? () => {} : await attempt.usage.store(tx, attempt),
    }));
    advance(attempt, progress);
    stored();
    for (const event of told) trace(attempt, event);
  });
  attempt.flush = () => batch.flush();
  const patience = patienceFor(deps, attempt, signal, "a provider's event could not be stored");
  const flush = () => untilStored(attempt.flush, patience);
  const show = showLive(deps.live, attempt);
  /** The run is not this attempt's any more; only what it used still counts. */
  let fenced: unknown = null;
  try {
    for await (const event of events) {
      if (event.type === 'usage') count(event.metered ? 'metered' : 'reported', event);
      watch.saw(event);
      if (fenced) continue;
      signs.heard(event);
      show(event);
      note(seen, event);
      if (event.type === 'forgets') attempt.forgets = true;
      const isEnd = event.type === 'done' || event.type === 'error';
      if (isEnd || (isStored(event) && batch.add(event))) {
        try {
          await flush();
        } catch (error) {
          if (!isFenced(error)) throw error;
          fenced = error;
          lost.abort();
        }
      }
      if (fenced) continue;
      isDone = event.type === 'done';
      if (event.type === 'done') return { finalText: cleanText(event.text), stopReason: event.stopReason };
      if (event.type === 'error') return failureOf(event, session);
    }
    if (fenced) throw fenced;
    await flush();
  } finally {
    for (const unwatch of watched) unwatch();
    await news.close();
    batch.close();
    watch.close();
  }
  return { failure: { kind: 'crash', message: `The provider "${agent.provider}" ended without a result.` } };
}

/** A turn that was ended at a limit failed, however its program reported that. Its result counts if it came before. */
function withExcess(outcome: TurnEnd, exceeded: AbortSignal, signal: AbortSignal): TurnEnd {
  if (!exceeded.aborted || signal.aborted || (outcome !== 'cancelled' && 'finalText' in outcome)) return outcome;
  return { failure: { kind: 'limit', message: (exceeded.reason as Error).message } };
}

/** A model that refused the turn used nothing. */
function mayHaveUsed(outcome: TurnEnd): boolean {
  return (
    outcome === 'cancelled' || 'finalText' in outcome || ['crash', 'limit', 'timeout'].includes(outcome.failure.kind)
  );
}

function patienceFor(
  { store, log }: TurnDependencies,
  { runId }: ActiveAttempt,
  signal: AbortSignal,
  what: string,
): Patience {
  return { store, signal, onFailure: ({ message }) => log.warn({ runId, error: message }, what) };
}

/** Passes on what the turn does at this moment, calls of our own tools included. A text without deltas comes at once. */
function showLive({ publish }: Live, { runId, agentId, number: attempt }: Attempt): (event: ProviderEvent) => void {
  const run = { runId, agentId, attempt };
  let isStreamed = false;
  return (event) => {
    if (event.type === 'delta' || (event.type === 'text' && !isStreamed)) {
      publish({ ...run, type: 'live_text', text: event.text });
    }
    if (event.type === 'delta') isStreamed = true;
    if (event.type === 'text') isStreamed = false;
    if (event.type === 'tool_call') {
      publish({ ...run, type: 'live_tool_call', tool: event.name, text: JSON.stringify(event.arguments) ?? '' });
    }
    if (event.type === 'tool_result') {
      const text = typeof event.result === 'string' ? event.result : (JSON.stringify(event.result) ?? '');
      publish({ ...run, type: 'live_tool_result', text, isError: event.isError });
    }
  };
}

function trace({ spans, progress }: ActiveAttempt, event: Told): void {
  if (event.type === 'tool_call') spans?.called(progress.step, event.name, event.id);
  if (event.type === 'tool_result') spans?.returned(event.id, event.isError);
  if (event.type === 'usage') spans?.used(event.inputTokens, event.outputTokens);
}

function failureOf(event: Extract<ProviderEvent, { type: 'error' }>, resumed: string | null): TurnEnd {
  if (event.kind === 'cancelled') return 'cancelled';
  const { message, retryAfterMs, exhausted, metered } = event;
  // If no session was resumed, none can be unknown: the provider is broken, and that counts as a failure.
  const kind = event.kind === 'bad_session' && resumed === null ? 'crash' : event.kind;
  const told = { ...(retryAfterMs !== undefined && { retryAfterMs }), ...(exhausted && { exhausted }) };
  return { failure: { kind, message: cleanText(message), ...told, ...(metered && { metered }) } };
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
    await untilStored(
      () =>
        deps.store.write(
          (tx) => end(tx, deps, attempt, outcome),
          `end of ${attempt.agentId}`,
          `tree ${attempt.treeId}`,
        ),
      patience,
    );
  } catch (error) {
    // Fenced: cancelled, terminated or taken over, which stored the end. Otherwise the next start does.
    if (isFenced(error)) return;
    deps.log.warn({ runId: attempt.runId, error: (error as Error).message }, 'the end of a turn is left to recovery');
  }
}

async function end(tx: Tx, deps: TurnDependencies, attempt: ActiveAttempt, outcome: TurnEnd): Promise<void> {
  const now = deps.clock();
  if (attempt.untaken.size > 0) {
    await tx.runs.holdRun(attempt);
    await returnUntaken(tx, attempt);
  }
  if (outcome !== 'cancelled' && 'finalText' in outcome) {
    return completeRun(tx, deps.correspondence, attempt, outcome, now);
  }
  const run = await tx.runs.holdRun(attempt);
  const failure = outcome === 'cancelled' ? endedFrom(attempt) : outcome.failure;
  if (failure.kind === 'bad_session') await dropSession(tx, deps.correspondence, attempt, now);
  const ended = await reachLimit(tx, deps.seats, run, failure, attempt.session, now);
  await failAttempt(tx, deps.correspondence, run, ended, { maxAttempts: deps.maxAttempts }, now);
}

/** A budget is used up, or the daemon is stopping: neither is a failure of the agent. */
function endedFrom({ exhausted }: ActiveAttempt): Failure {
  if (exhausted) return { kind: 'budget', message: exhausted.text, exhausts: exhausted };
  return { kind: 'daemon_stopped', message: 'The daemon was stopped.' };
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
