/** What a benchmark gets: a directory that is removed afterwards, a way to register cleanup, and `--minutes`. */
export interface Bench {
  readonly scratch: string;
  readonly minutes?: number | null;
  defer(end: () => unknown): void;
}

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  /** Null if the goal is about the result alone. */
  readonly yardstick: number | null;
  readonly result: number;
  /** What was measured, round by round. Without rounds the verdict does not consider noise. */
  readonly rounds?: readonly Round[];
  /** What the goal is about: the ratio to the baseline, the difference, or the result itself. */
  readonly goalOf: 'ratio' | 'difference' | 'result';
  readonly atMost?: number;
  readonly atLeast?: number;
  /** The part of the machine that other programs used around the measurement, 0 to 1. */
  readonly busy?: number;
}

export interface Round {
  readonly yardstick: number;
  readonly ours: number;
}

export type Verdict = 'met' | 'MISSED' | 'not decided' | '';

const FEWEST_ROUNDS = 5;
const MOST_ROUNDS = 40;
/** A comparison goes on until the confidence interval of the ratio is this narrow, or its time is over. */
const NARROW = 0.1;
const BUDGET_MS = process.argv.includes('--short') ? 6000 : 30_000;
/** With more of the machine in use by others, a ratio says more about them: the yardstick and ours lose unequally. */
const BUSY = 0.25;

/** Alternates baseline and ours, each first in every other round, so that a disturbance of the machine affects both. */
export async function alternate<T>(
  yardstick: () => Promise<T>,
  ours: () => Promise<T>,
  figure: (measured: T) => number = Number,
) {
  const measured: { yardstick: T[]; ours: T[] } = { yardstick: [], ours: [] };
  const stop = performance.now() + BUDGET_MS;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const isLast = round >= FEWEST_ROUNDS && (performance.now() > stop || isNarrow(roundsOf(measured, figure)));
    if (isLast) break;
    const turns = [
      async () => measured.yardstick.push(await yardstick()),
      async () => measured.ours.push(await ours()),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  return measured;
}

/** The medians and the rounds of a comparison, as they stand in a row. */
export function compared<T>(
  measured: { readonly yardstick: readonly T[]; readonly ours: readonly T[] },
  figure: (measured: T) => number = Number,
): { readonly yardstick: number; readonly result: number; readonly rounds: readonly Round[] } {
  return {
    yardstick: median(measured.yardstick.map(figure)),
    result: median(measured.ours.map(figure)),
    rounds: roundsOf(measured, figure),
  };
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
}

/** The CPU time of this process for each, its threads included, in milliseconds. */
export async function cpuOf<T>(asked: readonly T[], ask: (one: T) => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (const one of asked) {
    const before = process.cpuUsage();
    await ask(one);
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / 1000);
  }
  return took;
}

/** The value that the goal is about, and its 95 % confidence interval. */
export function measureOf(row: Row): { readonly middle: number; readonly low: number; readonly high: number } {
  const { yardstick, result, rounds } = row;
  const of = (one: Round) => valueFor(row.goalOf, one);
  const middle = yardstick === null ? result : of({ yardstick, ours: result });
  if (rounds === undefined || rounds.length < FEWEST_ROUNDS) return { middle, low: middle, high: middle };
  return { middle, ...intervalOf(rounds.map(of)) };
}

/** `not decided` if the goal is inside the interval, or if others used the machine. */
export function verdictOf(row: Row): Verdict {
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY, busy = 0 } = row;
  if (row.atMost === undefined && row.atLeast === undefined) return '';
  const { low, high } = measureOf(row);
  if (row.goalOf === 'ratio' && busy > BUSY) return 'not decided';
  if (high <= atMost && low >= atLeast) return 'met';
  return low > atMost || high < atLeast ? 'MISSED' : 'not decided';
}

/** Half the distance between the 10th and the 90th percentile of the yardstick, as a part of its median. */
export function spreadOf({ rounds = [], yardstick }: Row): number | null {
  if (yardstick === null || rounds.length < FEWEST_ROUNDS) return null;
  const values = rounds.map((round) => round.yardstick);
  return (percentile(values, 90) - percentile(values, 10)) / 2 / median(values);
}

/** Of the median, by rank: nothing is assumed about how the values are distributed. */
export function intervalOf(values: readonly number[]): { readonly low: number; readonly high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const [half, n] = [0.98 * Math.sqrt(sorted.length), sorted.length];
  const low = sorted[Math.max(0, Math.floor(n / 2 - half))] ?? Number.NaN;
  const high = sorted[Math.min(n - 1, Math.ceil(n / 2 + half) - 1)] ?? Number.NaN;
  return { low, high };
}

function roundsOf<T>(
  { yardstick, ours }: { readonly yardstick: readonly T[]; readonly ours: readonly T[] },
  figure: (measured: T) => number,
): Round[] {
  return yardstick.flatMap((one, n) => {
    const other = ours[n];
    return other === undefined ? [] : [{ yardstick: figure(one), ours: figure(other) }];
  });
}

function isNarrow(rounds: readonly Round[]): boolean {
  const ratios = rounds.map((round) => valueFor('ratio', round));
  const { low, high } = intervalOf(ratios);
  return high - low <= NARROW * median(ratios);
}

function valueFor(goalOf: Row['goalOf'], { yardstick, ours }: Round): number {
  if (goalOf === 'result') return ours;
  return goalOf === 'ratio' ? ours / yardstick : ours - yardstick;
}
