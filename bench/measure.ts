/** What a benchmark gets: a directory that is removed afterwards, and a way to register cleanup. */
export interface Bench {
  readonly scratch: string;
  defer(end: () => unknown): void;
}

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  /** Null if the goal is about the result alone. */
  readonly yardstick: number | null;
  readonly result: number;
  /** What the goal is about: the ratio to the baseline, the difference, or the result itself. */
  readonly goalOf: 'ratio' | 'difference' | 'result';
  readonly atMost?: number;
  readonly atLeast?: number;
}

const RUNS = 5;

/** Alternates baseline and ours, so that a disturbance of the machine affects both. */
export async function alternate<T>(yardstick: () => Promise<T>, ours: () => Promise<T>) {
  const measured: { yardstick: T[]; ours: T[] } = { yardstick: [], ours: [] };
  for (let run = 0; run < RUNS; run += 1) {
    measured.yardstick.push(await yardstick());
    measured.ours.push(await ours());
  }
  return measured;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
}

/** The value that the goal is about. */
export function measureOf({ goalOf, yardstick, result }: Row): number {
  if (goalOf === 'result' || yardstick === null) return result;
  return goalOf === 'ratio' ? result / yardstick : result - yardstick;
}

export function isMet(row: Row): boolean {
  const measure = measureOf(row);
  return measure <= (row.atMost ?? Number.POSITIVE_INFINITY) && measure >= (row.atLeast ?? Number.NEGATIVE_INFINITY);
}
