import type { Due } from '../core/due.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Store } from '../store/store.ts';
import { watchClock } from './clock-steps.ts';
import { suspectFrom } from './deaths.ts';
import { dueRuns } from './due-runs.ts';
import type { Correspondence } from './endings.ts';
import { chargeRun, spentPeople } from './purse.ts';
import type { Slots } from './slots.ts';
import { openRunSpans } from './spans.ts';
import { type Started, startRun } from './start.ts';
import type { Tx } from './tx.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: () => number;
  /** Milliseconds by a clock that nobody sets. */
  readonly monotonic: () => number;
  readonly nodeId: string;
  readonly slots: Slots;
  readonly leaseMs: number;
  readonly maxTreeRuns: number;
  /** How many runs a person's words may start in a day, by their handle. */
  readonly runsPerDay: (handle: string) => number;
  readonly maxAttempts: number;
  /** 0: no run is ever set aside for the deaths of its daemon. */
  readonly maxDeaths: number;
  readonly boot: string;
  /** How often to look without a hint; null where no other process can make a run. */
  readonly pollMs: number | null;
  readonly correspondence: Correspondence;
  /** What time alone brings beside runs. */
  readonly due: readonly Due<Tx>[];
  readonly runTurn: (started: Started, signal: AbortSignal) => Promise<void>;
  /** Null where nothing is traced. */
  readonly tracer: Tracer | null;
  readonly log: { error(details: object, message: string): void };
}

interface LiveTurn {
  readonly agentId: string;
  readonly fence: number;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** A clock that is set is noticed within this time. */
const LONGEST_NAP_MS = 60_000;

/**
 * Starts runs while slots are free. Which run is next, and whether one is due at all, is asked of the store each time;
 * here are only the turns under way and one timer for the next thing that time alone will bring.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #live = new Map<string, LiveTurn>();
  #unsubscribe: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #renewal: NodeJS.Timeout | null = null;
  #pumping: Promise<void> | null = null;
  #again = false;
  #stopping = false;
  readonly #due: readonly Due<Tx>[];
  readonly #stepBack: () => number;
  /** How far the clock was set back, until what waits is told. */
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

  /** Looks for work soon; many calls are one look. */
  poke(): void {
    if (this.#stopping) return;
    this.#again = true;
    this.#pumping ??= this.#pump();
  }

  /** Everything that is due now: late requests, lost leases, runs. Resolves when all that could start has started. */
  async tick(): Promise<void> {
    this.poke();
    await this.#pumping;
  }

  /** Ends the process of a run that was fenced; the store knows already. */
  abort(runId: string): void {
    this.#live.get(runId)?.abort.abort();
  }

  liveRuns(): string[] {
    return [...this.#live.keys()];
  }

  isLive(agentId: string): boolean {
    return [...this.#live.values()].some((turn) => turn.agentId === agentId);
  }

  /** Resolves when nothing of the agent's turns is under way. */
  async settled(agentId: string): Promise<void> {
    await Promise.all([...this.#live.values()].filter((turn) => turn.agentId === agentId).map((turn) => turn.done));
  }

  /** Starts nothing more, ends what runs and gives it back to be tried again. */
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
        // The timer is armed for what comes after this moment: a run may become due between the last claim and the arming.
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

  /** Claims one run and starts its turn; false when none is due. */
  async #startNext(): Promise<boolean> {
    const { store, slots, clock, nodeId, leaseMs, maxTreeRuns, maxDeaths, boot, runsPerDay, correspondence, tracer } =
      this.#options;
    const since = Date.now();
    const busyAgents = [...this.#live.values()].map((turn) => turn.agentId);
    const claim = await store.write(async (tx) => {
      const now = clock();
      const spent = await spentPeople(tx, runsPerDay, now);
      const run = await tx.runs.claimRun({
        nodeId,
        now,
        leaseMs,
        maxTreeRuns,
        spent,
        fullProviders: slots.fullProviders(),
        busyAgents,
        suspectFrom: suspectFrom(maxDeaths),
        boot,
      });
      if (!run) return null;
      const started = await startRun(tx, run, now, { traced: tracer !== null, purse: { maxTreeRuns, spent } });
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
        const last = await chargeRun(tx, run, started.agent, runsPerDay, now);
        if (last) await correspondence.tellPayer(tx, started.agent, last.personId, last.text, now);
      }
      return { started };
    });
    if (!claim) return false;
    const { started } = claim;
    if (started) this.#run(tracer ? traced(tracer, started, since) : started);
    return true;
  }

  #run(started: Started): void {
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
    this.#live.set(attempt.runId, { agentId: agent.id, fence: attempt.fence, abort, done });
    this.#renewal ??= setInterval(() => void this.renewLeases(), this.#options.leaseMs / 3);
  }

  /**
   * Keeps the claims of the turns under way, and ends those that were fenced by another process. A renewal that could not be stored
   * is harmless: two more come before the lease is over, and a run whose lease is lost is tried again.
   */
  async renewLeases(): Promise<void> {
    const { store, clock, leaseMs, nodeId, log } = this.#options;
    try {
      const held = await store.write(async (tx) => {
        await tx.runs.renewLeases({ nodeId, leaseUntil: clock() + leaseMs });
        return tx.runs.listRunning({ nodeId });
      });
      const fences = new Map(held.map((run) => [run.id, run.fence]));
      for (const [runId, turn] of this.#live) if (fences.get(runId) !== turn.fence) turn.abort.abort();
    } catch (error) {
      log.error({ error: (error as Error).message }, 'leases could not be renewed');
    }
  }

  /** If anything is due, all kinds fire in one transaction; if there may be more, the pump comes by again. */
  async #fire(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock();
    const due = await store.read(async (tx) => {
      let any = false;
      // Every kind is asked: some remember what they saw.
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

  /** When the clock is set back, what waits by it must not wait for as much longer. */
  async #followClock(): Promise<void> {
    const { store, clock, nodeId } = this.#options;
    this.#behind += this.#stepBack();
    if (this.#behind === 0) return;
    await store.write((tx) => tx.runs.shiftWaits({ nodeId, by: this.#behind, now: clock() }));
    this.#behind = 0;
  }

  /** One timer for the earliest thing that only time will bring. */
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

/** With its spans, now that it is claimed for good. */
function traced(tracer: Tracer, started: Started, since: number): Started {
  const { run, agent, trace, instructions } = started;
  if (!trace) return started;
  const attempt = { ...started.attempt, spans: openRunSpans(tracer, run, agent, trace, since) };
  if (instructions !== null) attempt.spans.step(attempt.progress.step);
  return { ...started, attempt };
}

async function isDue(kind: Due<Tx>, tx: Tx, now: number): Promise<boolean> {
  if (kind.isDue) return kind.isDue(tx, now);
  const next = await kind.next(tx, now);
  return next !== null && next <= now;
}
