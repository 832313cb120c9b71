import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { table } from '../src/command-line/terminal.ts';
import { measureOf, type Row, verdictOf } from './measure.ts';

/** What a commit did on a kind of machine; one line of the file. */
export interface Entry {
  readonly commit: string;
  readonly machine: string;
  readonly date: string;
  readonly rows: Readonly<Record<string, Figure>>;
}

interface Figure {
  readonly middle: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: string;
  /** Whether less is better; null for a figure without a goal. */
  readonly less: boolean | null;
}

export function readHistory(file: string): Entry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Entry);
}

/** Adds the rows to the line of their commit and machine; a later measurement replaces an earlier one. */
export function record(file: string, about: Omit<Entry, 'rows'>, rows: readonly Row[]): void {
  const isSame = (entry: Entry) => entry.commit === about.commit && entry.machine === about.machine;
  const history = readHistory(file);
  const entry = { ...about, rows: { ...history.find(isSame)?.rows, ...figuresOf(rows) } };
  const all = [...history.filter((one) => !isSame(one)), entry];
  writeFileSync(file, all.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

/** The rows beside the last entry of the same machine that has each of them, except those of `commit` itself. */
export function comparisonLines(
  history: readonly Entry[],
  machine: string,
  commit: string | null,
  rows: readonly Row[],
) {
  const earlier = history.filter((entry) => entry.machine === machine && entry.commit !== commit).toReversed();
  const now = Object.entries(figuresOf(rows));
  return table(
    ['BENCHMARK', 'BEFORE', 'COMMIT', 'NOW', ''],
    now.map(([name, figure]) => {
      const entry = earlier.find((one) => one.rows[name] !== undefined);
      const before = entry?.rows[name];
      if (entry === undefined || before === undefined) return [name, '', '', shown(figure), 'new'];
      return [name, shown(before), entry.commit, shown(figure), changeOf(before, figure)];
    }),
  );
}

/** A change only if the intervals do not overlap. */
function changeOf(before: Figure, now: Figure): string {
  if (now.low <= before.high && before.low <= now.high) return 'same';
  if (now.less === null) return 'changed';
  return now.middle < before.middle === now.less ? 'better' : 'WORSE';
}

function figuresOf(rows: readonly Row[]): Record<string, Figure> {
  return Object.fromEntries(
    rows.map((row) => {
      const less = row.atMost !== undefined ? true : row.atLeast !== undefined ? false : null;
      const { middle, low, high } = measureOf(row);
      return [row.name, { middle: tidy(middle), low: tidy(low), high: tidy(high), verdict: verdictOf(row), less }];
    }),
  );
}

function shown({ middle, low, high }: Figure): string {
  return low === high ? String(middle) : `${middle} (${low} to ${high})`;
}

function tidy(value: number): number {
  return Number(value.toPrecision(4));
}
