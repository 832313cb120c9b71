import type { Agent } from '../core/agent.ts';
import type { Due } from '../core/due.ts';
import type { PeopleRules } from '../core/people.ts';
import type { Run } from '../core/run.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Store } from '../store/store.ts';
import type { ActiveAttempt } from './attempt.ts';
import { BUDGET_EXHAUSTED } from './budget-answers.ts';
import type { BudgetRules } from './budgets.ts';
import { watchClock } from './clock-steps.ts';
import { suspectFrom } from './deaths.ts';
import { dueRuns } from './due-runs.ts';
import { type Correspondence, cancelRun, failAttempt } from './endings.ts';
import { chargeRun, spentPeople } from './purse.ts';
import type { SeatRules } from './seats.ts';
import type { Slots } from './slots.ts';
import { openRunSpans } from './spans.ts';
import { type Started, startRun } from './start.ts';
import type { Tx } from './tx.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly nodeId: string;
  /** Id of this start of the daemon. */
  readonly incarnation: string;
  readonly slots: Slots;
  readonly leaseMs: number;
  readonly maxTreeRuns: number;
  /** How many runs per day the messages of a person may start. */
  readonly people: PeopleRules;
  readonly maxAttempts: number;
  /** How many daemon deaths in a row set a run aside; 0: never. */
  readonly maxDeaths: number;
  readonly boot: string;
  /** How often to poll for runs of other processes; null if other processes cannot create runs. */
  readonly pollMs: number | null;
  readonly correspondence: Correspondence;
  readonly seats: SeatRules;
  readonly budgets: BudgetRules;
  /** The kinds of due things other than runs. */
  readonly due: readonly Due<Tx>[];
  /** Called in the transaction that follows a clock which was set back. */
  readonly onSetBack: (tx: Tx, by: number, now: number) => Promise<void>;
  readonly runTurn: (started: Started, signal: AbortSignal) => Promise<void>;
  /** Null if tracing is off. */
  readonly tracer: Tracer | null;
  readonly log: { error(details: object, message: string): void };
}

interface LiveTurn {
  readonly attempt: ActiveAttempt;
  readonly agentId: string;
  readonly fence: number;
  /** Start of its lease, by the monotonic clock. */
  readonly heldSince: number;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** The longest timer, so that a change of the wall clock is noticed within this time. */
const LONGEST_NAP_MS = 60_000;
/** How often a lease is renewed while it lasts. After half of it without success, turns end. */
const RENEWALS = 6;

/**
 * Starts runs while slots are free. The store decides each time whether a run is due and which one is next. The
 * scheduler keeps only the turns in progress and one timer for whatever is due next.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #live = new Map<string, LiveTurn>();
  #unsubscribe: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #renewal: NodeJS.Timeout | null = null;
  #pumping: Promise<void> | null = null;
  #again = false;
  #renewing = false;
  /** When the leases were last renewed, by the monotonic clock. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #stopping = false;
  readonly #due: readonly Due<Tx>[];
  readonly #stepBack: () => number;
  /** By how much the clock was set back and the waiting times in the store are not shifted yet. */
  #behind = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#due = [...dueRuns({ ...options, isLive: (runId) => this.#live.has(runId) }), ...options.due];
    this.#stepBack = watchClock(options.clock, options.monotonic);
  }

  start(): void {
    this.#unsubscribe = this.#options.store.onChange(({ runnable }) => {
      if (runnable) this.poke();
    });
    this.poke();
  }

  /** Looks for work soon. Calls are coalesced. */
  poke(): void {
    if (this.#stopping) return;
    this.#again = true;
    this.#pumping ??= this.#pump();
  }

  /** Handles everything that is due: late requests, lost leases, runs. Resolves when all that can start have started. */
  async tick(): Promise<void> {
    this.poke();
    await this.#pumping;
  }

  /** Ends the process of a run that the store has already fenced. */
  abort(runId: string): void {
    this.#live.get(runId)?.abort.abort();
  }

  liveRuns(): string[] {
    return [...this.#live.keys()];
  }

  isLive(agentId: string): boolean {
    return [...this.#live.values()].some((turn) => turn.agentId === agentId);
  }

  /** Resolves when the agent has no turn in progress. */
  async settled(agentId: string): Promise<void> {
    await Promise.all([...this.#live.values()].filter((turn) => turn.agentId === agentId).map((turn) => turn.done));
  }

  /** Starts no further turns, and aborts those in progress so that they are retried later. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe?.();
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#renewal) clearInterval(this.#renewal);
    await this.#pumping;
    const turns = [...this.#live.values()];
    for (const turn of turns) turn.abort.abort();
    await Promise.all(turns.map((turn) => turn.done));
  }

  async #pump(): Promise<void> {
    while (this.#again && !this.#stopping) {
      this.#again = false;
      try {
        await this.#followClock();
        // Arm the timer for everything after this moment: a run may become due between the last claim and the arming.
        const looked = this.#options.clock();
        await this.#fire();
        while (!this.#stopping && this.#options.slots.hasFree() && (await this.#startNext()));
        await this.#arm(looked);
      } catch (error) {
        this.#options.log.error({ error: (error as Error).message }, 'the scheduler could not use the store');
        this.#wakeAt(this.#options.clock() + 1000);
      }
    }
    this.#pumping = null;
  }

  /** Claims one run and starts its turn. Returns false if no run is due. */
  async #startNext(): Promise<boolean> {
    const { store, slots, clock, nodeId, incarnation, leaseMs, maxTreeRuns, maxDeaths, boot } = this.#options;
    const { people, correspondence, tracer, seats, budgets, maxAttempts } = this.#options;
    const since = Date.now();
    const heldSince = this.#options.monotonic();
    const busyAgents = [...this.#live.values()].map((turn) => turn.agentId);
    const claimable = (spent: readonly string[], now: number) => ({
      nodeId,
      incarnation,
      boot,
      now,
      maxTreeRuns,
      spent,
      fullProviders: slots.fullProviders(),
      busyAgents,
      suspectFrom: suspectFrom(maxDeaths),
    });
    // Only what to lock: who has used up their runs is found out under the lock.
    const treeId = await store.read((tx) => tx.runs.getNextTree(claimable([], clock())));
    if (treeId === null) return false;
    const claim = await store.write(async (tx) => {
      const now = clock();
      const spent = (await spentPeople(tx, people, now)).map(({ personId }) => personId);
      const run = await tx.runs.claimRun({ ...claimable(spent, now), leaseMs });
      if (!run) return null;
      const purse = { maxTreeRuns, spent };
      const started = await startRun(tx, run, now, { traced: tracer !== null, purse, seats, budgets, correspondence });
      if (started && 'until' in started) {
        const failure = { kind: 'rate_limit', message: started.reason, retryAfterMs: started.until - now } as const;
        await failAttempt(tx, correspondence, run, failure, { maxAttempts }, now);
        return { started: null };
      }
      if (started && 'budgetId' in started) {
        if (run.attempt === 1) await chargeRun(tx, await held(tx, run), people, now);
        if (started.why === 'stopped') {
          await cancelRun(tx, correspondence, run.id, `${BUDGET_EXHAUSTED}: ${started.text}`, now);
          return { started: null };
        }
        const failure = { kind: 'budget', message: started.text, exhausts: started } as const;
        await failAttempt(tx, correspondence, run, failure, { maxAttempts }, now);
        return { started: null };
      }
      if (!started) {
        const error = 'Nothing was left to do.';
        await tx.runs.endRun({
          id: run.id,
          fence: run.fence,
          state: 'cancelled',
          stopReason: 'cancelled',
          error,
          finalText: null,
          now,
        });
      } else if (run.attempt === 1) {
        await correspondence.tellBegun(tx, run, now);
        const last = await chargeRun(tx, started, people, now);
        if (last) await correspondence.tellPayer(tx, started.agent, last.personId, last.text, now);
      }
      return { started };
    }, `tree ${treeId}`);
    if (!claim) return false;
    const { started } = claim;
    if (started) this.#run(tracer ? traced(tracer, started, since) : started, heldSince);
    return true;
  }

  #run(started: Started, heldSince: number): void {
    const { attempt, agent } = started;
    const { slots, runTurn } = this.#options;
    const abort = new AbortController();
    slots.take(agent.provider);
    const unexpected = (error: Error) =>
      this.#options.log.error({ runId: attempt.runId, error: error.stack }, 'a turn ended in an unexpected error');
    const done = runTurn(started, abort.signal)
      .catch(unexpected)
      .finally(() => {
        slots.release(agent.provider);
        this.#live.delete(attempt.runId);
        if (this.#live.size === 0 && this.#renewal) {
          clearInterval(this.#renewal);
          this.#renewal = null;
        }
        this.poke();
      });
    this.#live.set(attempt.runId, { attempt, agentId: agent.id, fence: attempt.fence, heldSince, abort, done });
    this.#renewal ??= setInterval(() => void this.renewLeases(), this.#options.leaseMs / RENEWALS);
  }

  /**
   * Renews the leases of the turns in progress, and aborts turns that another process has fenced. A failed renewal is
   * harmless: more follow before the lease expires, and a run that loses its lease is retried.
   */
  async renewLeases(): Promise<void> {
    const { store, clock, monotonic, leaseMs, nodeId, incarnation, log } = this.#options;
    this.#endUnrenewed();
    if (this.#renewing) return;
    this.#renewing = true;
    const at = monotonic();
    const turns = [...this.#live];
    try {
      const held = await store.write((tx) =>
        tx.runs.renewLeases({
          nodeId,
          incarnation,
          runIds: turns.map(([runId]) => runId),
          leaseUntil: clock() + leaseMs,
        }),
      );
      this.#renewedAt = at;
      const fences = new Map(held.map((run) => [run.id, run.fence]));
      for (const [runId, turn] of turns) if (fences.get(runId) !== turn.fence) turn.abort.abort();
      await this.#checkBudgets();
    } catch (error) {
      log.error({ error: (error as Error).message }, 'leases could not be renewed');
    } finally {
      this.#renewing = false;
    }
  }

  /** Time passes, and budgets change: turns that draw from them look again. */
  async #checkBudgets(): Promise<void> {
    const { store, nodeId } = this.#options;
    for (const { runId } of await store.read((tx) => tx.budgets.listCharged({ nodeId }))) {
      const attempt = this.#live.get(runId)?.attempt;
      if (!attempt) continue;
      attempt.budgeted = true;
      await attempt.checkBudgets();
    }
  }

  /**
   * Ends turns whose leases could not be renewed for half their length: when the other half is over, another node may
   * start them again. If there is no other node, they continue.
   */
  #endUnrenewed(): void {
    const { monotonic, leaseMs, pollMs, log } = this.#options;
    if (pollMs === null) return;
    const now = monotonic();
    for (const [runId, { heldSince, abort }] of this.#live) {
      if (abort.signal.aborted || now - Math.max(heldSince, this.#renewedAt) < leaseMs / 2) continue;
      log.error({ runId }, 'a turn is ended because its lease could not be renewed');
      abort.abort();
    }
  }

  /** If anything is due, all kinds fire in one transaction. If there may be more, the pump repeats. */
  async #fire(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock();
    const due = await store.read(async (tx) => {
      let any = false;
      // Ask every kind, without a short circuit: some remember what they saw.
      for (const kind of this.#due) if (kind.fire && (await isDue(kind, tx, now))) any = true;
      return any;
    });
    if (!due) return;
    const more = await store.write(async (tx) => {
      let any = false;
      for (const kind of this.#due) if (await kind.fire?.(tx, now)) any = true;
      return any;
    });
    if (more) this.#again = true;
  }

  /** If the clock was set back, moves waiting times back by as much. */
  async #followClock(): Promise<void> {
    const { store, clock, nodeId } = this.#options;
    this.#behind += this.#stepBack();
    if (this.#behind === 0) return;
    await store.write(async (tx) => {
      await tx.runs.shiftWaits({ nodeId, by: this.#behind, now: clock() });
      await this.#options.onSetBack(tx, -this.#behind, clock());
    });
    this.#behind = 0;
  }

  /** Arms the timer for the earliest due time of all kinds. */
  async #arm(looked: number): Promise<void> {
    const { store } = this.#options;
    const times = await store.read(async (tx) => {
      const next: number[] = [];
      for (const kind of this.#due) next.push((await kind.next(tx, looked)) ?? Number.POSITIVE_INFINITY);
      return next;
    });
    const next = Math.min(...times);
    if (Number.isFinite(next)) this.#wakeAt(next);
  }

  #wakeAt(at: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    const wait = Math.min(Math.max(at - this.#options.clock(), 1), LONGEST_NAP_MS);
    this.#timer = setTimeout(() => this.poke(), wait);
  }
}

/** Adds the spans after the claim is committed. */
function traced(tracer: Tracer, started: Started, since: number): Started {
  const { run, agent, trace, instructions } = started;
  if (!trace) return started;
  const attempt = { ...started.attempt, spans: openRunSpans(tracer, run, agent, trace, since) };
  if (instructions !== null) attempt.spans.step(attempt.progress.step);
  return { ...started, attempt };
}

/** A run that was claimed and does not start, as it is after the claim. */
async function held(tx: Tx, { id, agentId }: Run) {
  const run = (await tx.runs.getRun({ id })) as Run;
  return { run, agent: (await tx.agents.getAgent({ id: agentId })) as Agent, payerId: run.payerId };
}

async function isDue(kind: Due<Tx>, tx: Tx, now: number): Promise<boolean> {
  if (kind.isDue) return kind.isDue(tx, now);
  const next = await kind.next(tx, now);
  return next !== null && next <= now;
}
