/**
 * What a running turn shows of itself.
 * working: a sign of life within `quietMs`, or Substrat executes a call of it.
 * quiet: none for `quietMs`.
 * stalled: none for `stalledMs`.
 * looping: it makes the same calls with the same results again and again.
 */
export const PROGRESS = ['working', 'quiet', 'stalled', 'looping'] as const;
export type ProgressState = (typeof PROGRESS)[number];

export interface Thresholds {
  readonly quietMs: number;
  readonly stalledMs: number;
}

/** When each sign of life was last seen; null for a sign that cannot be seen here. */
export interface Signs {
  readonly begun: number;
  readonly event: number | null;
  readonly processor: number | null;
  readonly network: number | null;
  /** Calls that Substrat executes for it. */
  readonly ours: number;
  /** Calls of the program's own tools that have no result yet. */
  readonly own: readonly { readonly tool: string; readonly since: number }[];
  readonly loop: Loop | null;
}

export interface Loop {
  readonly tools: readonly string[];
  readonly times: number;
  readonly since: number;
}

export interface Judgement {
  readonly state: ProgressState;
  readonly since: number;
  /** For people: the evidence. */
  readonly reason: string;
  /** When the state changes if no sign of life follows; null if it does not. */
  readonly next: number | null;
}

/** Judges by the signs of life alone. Nothing is ended because of it. */
export function judgeProgress(signs: Signs, { quietMs, stalledMs }: Thresholds, now: number): Judgement {
  const last = Math.max(signs.begun, signs.event ?? 0, signs.processor ?? 0, signs.network ?? 0);
  const { loop } = signs;
  if (loop) {
    const calls = loop.tools.length === 1 ? `called ${loop.tools[0]}` : `repeated ${loop.tools.join(', ')}`;
    const reason = `It ${calls} ${loop.times} times with the same arguments and the same result.`;
    return { state: 'looping', since: loop.since, reason, next: null };
  }
  const silence = now - last;
  if (signs.ours > 0 || silence < quietMs) {
    return { state: 'working', since: last, reason: '', next: signs.ours > 0 ? now + quietMs : last + quietMs };
  }
  const isStalled = silence >= stalledMs;
  const next = isStalled ? null : last + stalledMs;
  return { state: isStalled ? 'stalled' : 'quiet', since: last, reason: evidence(signs, now), next };
}

function evidence({ begun, event, processor, network, own }: Signs, now: number): string {
  const since = (at: number) => span(now - at);
  const seen = [
    event === null ? `no event since it began ${since(begun)} ago` : `its last event was ${since(event)} ago`,
    processor === null ? [] : `no processor time for ${since(processor)}`,
    network === null ? [] : `no network traffic for ${since(network)}`,
    own.slice(0, 3).map(({ tool, since: at }) => `its call of ${tool} has been running for ${since(at)}`),
  ].flat();
  const text = seen.join('; ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function span(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

/** The longest sequence of calls that is recognized when it repeats. */
const LONGEST = 4;
const REPETITIONS = 10;

/** Recognizes calls that repeat: the same tool, arguments and result, alone or in a short sequence. */
export class LoopWatch {
  readonly #calls: { readonly key: string; readonly tool: string; readonly at: number }[] = [];
  #loop: Loop | null = null;

  get loop(): Loop | null {
    return this.#loop;
  }

  /** When the last call returned; null if none did. */
  get lastAt(): number | null {
    return this.#calls.at(-1)?.at ?? null;
  }

  /** `key` stands for the arguments and the result. */
  returned(tool: string, key: string, at: number): void {
    this.#calls.push({ key: `${tool} ${key}`, tool, at });
    if (this.#calls.length > LONGEST * REPETITIONS) this.#calls.shift();
    const before = this.#loop;
    this.#loop = null;
    for (let length = 1; length <= LONGEST && !this.#loop; length += 1) {
      const last = this.#calls.slice(-length * REPETITIONS);
      if (last.length < length * REPETITIONS) break;
      if (last.some(({ key: one }, index) => one !== last[index % length]?.key)) continue;
      const times = before && before.tools.length === length ? before.times + (length === 1 ? 1 : 0) : REPETITIONS;
      const tools = last.slice(0, length).map((call) => call.tool);
      this.#loop = { tools, times, since: before?.since ?? last[0]?.at ?? at };
    }
  }
}
