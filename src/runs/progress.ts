import { createHash } from 'node:crypto';
import type { Agent } from '../core/agent.ts';
import type { Due } from '../core/due.ts';
import { type Judgement, judgeProgress, LoopWatch, type Signs, type Thresholds } from '../core/progress.ts';
import type { Run } from '../core/run.ts';
import type { ProviderEvent } from '../providers/provider.ts';
import type { ActiveAttempt } from './attempt.ts';
import type { Correspondence } from './endings.ts';
import type { Tx } from './tx.ts';

/** What a turn's processes have used so far; null for what cannot be seen. */
export interface Activity {
  readonly cpuMs: number | null;
  readonly bytes: number | null;
}

/** Follows the signs of life of one attempt. */
export interface TurnSigns {
  /** From now on, what its processes use is a sign of life, too. */
  follow(activity: () => Activity): void;
  heard(event: ProviderEvent): void;
  close(): void;
}

export interface ProgressOptions {
  readonly clock: () => number;
  readonly thresholds: (provider: string) => Thresholds;
  readonly correspondence: Pick<Correspondence, 'tellPerson'>;
  /** Looks at what is due now. */
  readonly wake: () => void;
}

/** Less is what a program does while it waits. */
const LEAST_CPU_SHARE = 0.05;
const LEAST_BYTES = 1_000;

/**
 * The turns in progress here and what they show of themselves. A changed state is stored, and a person is told once per
 * attempt that it is stalled or looping. Nothing is ended because of it.
 */
export class ProgressWatch implements Due<Tx> {
  readonly #options: ProgressOptions;
  readonly #turns = new Map<string, Followed>();

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Called when the attempt is claimed, before the scheduler arms its timer. */
  open(attempt: ActiveAttempt, provider: string): TurnSigns {
    const { clock, thresholds, wake } = this.#options;
    const turn = new Followed(attempt, thresholds(provider), clock());
    this.#turns.set(attempt.runId, turn);
    return {
      follow: (activity) => {
        turn.activity = activity;
      },
      heard: (event) => {
        turn.heard(event, clock());
        if (turn.shown !== 'working' && turn.shown !== turn.judge(clock()).state) wake();
      },
      close: () => void this.#turns.delete(attempt.runId),
    };
  }

  async next(_: Tx, now: number): Promise<number | null> {
    const times = [...this.#turns.values()].map((turn) => turn.nextLook(now)).filter((at) => at !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  async isDue(tx: Tx, now: number): Promise<boolean> {
    let any = false;
    for (const turn of this.#turns.values()) {
      turn.look(now);
      // The person may have extended a turn that does not work.
      if (turn.shown === 'working' && turn.judge(now).state === 'working') continue;
      const run = await tx.runs.getRun({ id: turn.attempt.runId });
      if (!run || !isSame(run, turn.attempt)) continue;
      turn.take(run);
      if (turn.judge(now).state === turn.shown) continue;
      // What is shown is known again when the write that follows is committed.
      turn.shown = null;
      any = true;
    }
    return any;
  }

  async fire(tx: Tx, now: number): Promise<boolean> {
    for (const { attempt, judge } of this.#turns.values()) {
      const judgement = judge(now);
      const run = await tx.runs.getRun({ id: attempt.runId });
      if (!run || !isSame(run, attempt) || judgement.state === (run.progress ?? 'working')) continue;
      await this.#show(tx, run, judgement, now);
    }
    return false;
  }

  async #show(tx: Tx, run: Run, { state, reason, since }: Judgement, now: number): Promise<void> {
    const { id: runId, agentId, attempt } = run;
    const isWorking = state === 'working';
    const tells = (state === 'stalled' || state === 'looping') && run.toldAttempt !== attempt;
    await tx.runs.setProgress({
      id: runId,
      progress: isWorking ? null : state,
      reason: isWorking ? null : reason,
      since: isWorking ? null : since,
      toldAttempt: tells ? attempt : run.toldAttempt,
    });
    const data = { runId, agentId, progress: state, reason: isWorking ? null : reason };
    await tx.events.appendEvent({ type: 'run_progress', at: now, agentId, data });
    if (!tells) return;
    const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
    const seems = state === 'stalled' ? 'seems to be stalled' : 'seems to be in a loop';
    const text = [
      `${agent.handle} ${seems}. ${reason} It continues; nothing was ended.`,
      `\`substrat run show ${runId}\` shows what it did. \`substrat run extend ${runId}\` waits longer, \`substrat run restart ${runId}\` starts its turn again, \`substrat run cancel ${runId}\` ends it.`,
    ];
    await this.#options.correspondence.tellPerson(tx, agent, text.join('\n'), now);
  }
}

/** Until then, a turn without progress is only quiet. Afterwards the person gets another message. */
export async function extendRun(
  tx: Tx,
  { id: runId, agentId, ...run }: Run,
  until: number,
  now: number,
): Promise<void> {
  await tx.runs.setPatience({ id: runId, until });
  if (run.progress !== 'stalled' && run.progress !== 'looping') return;
  const { progressReason: reason, progressSince: since } = run;
  await tx.runs.setProgress({ id: runId, progress: 'quiet', reason, since, toldAttempt: null });
  const data = { runId, agentId, progress: 'quiet', reason } as const;
  await tx.events.appendEvent({ type: 'run_progress', at: now, agentId, data });
}

function isSame(run: Run, attempt: ActiveAttempt): boolean {
  return run.state === 'running' && run.fence === attempt.fence;
}

class Followed {
  readonly attempt: ActiveAttempt;
  readonly #thresholds: Thresholds;
  readonly #loops = new LoopWatch();
  readonly #own = new Map<string, { tool: string; since: number; key: string }>();
  readonly #begun: number;
  #event: number | null = null;
  #processor: number | null = null;
  #network: number | null = null;
  #last: Activity & { at: number };
  activity: () => Activity = () => ({ cpuMs: null, bytes: null });
  /** What the store shows; null if it is not known. */
  shown: Judgement['state'] | null = 'working';
  #patientUntil = 0;

  constructor(attempt: ActiveAttempt, thresholds: Thresholds, now: number) {
    this.attempt = attempt;
    this.#thresholds = thresholds;
    this.#begun = now;
    this.#last = { cpuMs: 0, bytes: 0, at: now };
  }

  heard(event: ProviderEvent, now: number): void {
    this.#event = now;
    // Calls of Substrat's own tools are seen where they are executed.
    if (event.type === 'tool_call' && !event.ours) {
      this.#own.set(event.id, { tool: event.name, since: now, key: digest(event.arguments) });
    }
    if (event.type !== 'tool_result') return;
    const call = this.#own.get(event.id);
    this.#own.delete(event.id);
    if (call) this.#loops.returned(call.tool, `${call.key} ${digest(event.result)}`, now);
  }

  take({ progress, patientUntil }: Run): void {
    this.shown = progress ?? 'working';
    this.#patientUntil = patientUntil ?? 0;
  }

  /** Compares what its processes have used with the last look. */
  look(now: number): void {
    const { cpuMs, bytes } = this.activity();
    const { at, cpuMs: cpuBefore, bytes: bytesBefore } = this.#last;
    if (now - at < this.#everyMs()) return;
    if (cpuMs !== null && cpuMs - (cpuBefore ?? 0) >= (now - at) * LEAST_CPU_SHARE) this.#processor = now;
    if (bytes !== null && bytes - (bytesBefore ?? 0) >= LEAST_BYTES) this.#network = now;
    // A sign that can be seen, and was not, was last possible when the turn began.
    if (cpuMs !== null) this.#processor ??= this.#begun;
    if (bytes !== null) this.#network ??= this.#begun;
    this.#last = { cpuMs, bytes, at: now };
  }

  readonly judge = (now: number): Judgement => {
    const judgement = judgeProgress(this.#signs(), this.#thresholds, now);
    if (judgement.state !== 'stalled' && judgement.state !== 'looping') return judgement;
    return now < this.#patientUntil ? { ...judgement, state: 'quiet', next: this.#patientUntil } : judgement;
  };

  nextLook(now: number): number | null {
    const { next } = this.judge(now);
    return Math.min(next ?? Number.POSITIVE_INFINITY, this.#last.at + this.#everyMs());
  }

  #everyMs(): number {
    return this.#thresholds.quietMs / 4;
  }

  #signs(): Signs {
    const { attempt } = this;
    return {
      begun: this.#begun,
      event: latest(this.#event, attempt.loops.lastAt),
      processor: this.#processor,
      network: this.#network,
      ours: attempt.calling.size,
      own: [...this.#own.values()],
      loop: this.#loops.loop ?? attempt.loops.loop,
    };
  }
}

function latest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

function digest(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return createHash('sha256').update(text).digest('base64url');
}
