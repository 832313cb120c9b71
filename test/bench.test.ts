import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { comparisonLines, readHistory, record } from '../bench/history.ts';
import { alternate, compared, intervalOf, type Row, spreadOf, verdictOf } from '../bench/measure.ts';

/** A comparison whose rounds have these ratios to a yardstick of 1. */
function rowOf(ratios: readonly number[], goal: Partial<Row> = { atMost: 1.5 }): Row {
  const measured = { yardstick: ratios.map(() => 1), ours: ratios };
  return { name: 'x', unit: 'ms', ...compared(measured), goalOf: 'ratio', ...goal };
}

describe('a verdict', () => {
  test('needs the whole interval on one side of the goal', () => {
    expect(verdictOf(rowOf([1.1, 1.2, 1.3, 1.2, 1.4]))).toBe('met');
    expect(verdictOf(rowOf([1.6, 1.7, 1.8, 1.7, 1.9]))).toBe('MISSED');
    expect(verdictOf(rowOf([1.1, 1.2, 1.3, 1.2, 1.6]))).toBe('not decided');
    expect(verdictOf(rowOf([0.7, 0.9, 0.8, 0.9, 0.9], { atLeast: 0.8 }))).toBe('not decided');
    expect(verdictOf(rowOf([1, 2, 3, 4, 5], {}))).toBe('');
  });

  test('on a ratio is not given while others use the machine', () => {
    const ratios = [1.1, 1.1, 1.1, 1.1, 1.1];
    expect(verdictOf(rowOf(ratios, { atMost: 1.5, busy: 0.2 }))).toBe('met');
    expect(verdictOf(rowOf(ratios, { atMost: 1.5, busy: 0.3 }))).toBe('not decided');
    expect(verdictOf(rowOf(ratios, { atMost: 1.5, busy: 0.3, goalOf: 'result' }))).toBe('met');
  });

  test('without rounds looks at the figure alone', () => {
    expect(verdictOf({ name: 'x', unit: '', yardstick: null, result: 3, goalOf: 'result', atMost: 3 })).toBe('met');
  });
});

test('the interval of a median leaves out the outermost values of many, and none of five', () => {
  expect(intervalOf([5, 1, 4, 2, 3])).toEqual({ low: 1, high: 5 });
  expect(intervalOf(Array.from({ length: 20 }, (_, n) => n + 1))).toEqual({ low: 6, high: 15 });
});

test('the spread is that of the yardstick', () => {
  const measured = { yardstick: [10, 11, 9, 10, 10], ours: [1, 50, 1, 1, 1] };
  expect(spreadOf({ ...rowOf([]), ...compared(measured) })).toBeCloseTo(0.1);
});

describe('alternating', () => {
  test('stops after five rounds that agree, each side first in turn', async () => {
    const order: string[] = [];
    const side = (name: string, value: number) => async () => {
      order.push(name);
      return value;
    };
    const { rounds } = compared(await alternate(side('theirs', 2), side('ours', 3)));
    expect(rounds).toEqual(Array.from({ length: 5 }, () => ({ yardstick: 2, ours: 3 })));
    expect(order.slice(0, 4)).toEqual(['theirs', 'ours', 'ours', 'theirs']);
  });

  test('goes on while rounds disagree, at most forty times', async () => {
    const values = Array.from({ length: 50 }, (_, n) => 1 + (n % 2));
    const { rounds } = compared(
      await alternate(
        async () => 1,
        async () => values.pop() ?? 0,
      ),
    );
    expect(rounds).toHaveLength(40);
  });
});

test('the history has one line a commit and machine; a comparison needs intervals that do not overlap', () => {
  const directory = mkdtempSync(join(tmpdir(), 'history-'));
  const file = join(directory, 'history.jsonl');
  const about = (commit: string, machine = 'm') => ({ commit, machine, date: '2026-01-01' });
  try {
    record(file, about('a'), [rowOf([1, 1, 1, 1, 1])]);
    record(file, about('a'), [{ ...rowOf([2, 2, 2, 2, 2]), name: 'y' }]);
    record(file, about('a', 'other'), [rowOf([9, 9, 9, 9, 9])]);
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
    expect(Object.keys(readHistory(file)[0]?.rows ?? {})).toEqual(['x', 'y']);
    const against = (ratios: readonly number[], commit = 'b') =>
      comparisonLines(readHistory(file), 'm', commit, [rowOf(ratios)])[1];
    expect(against([1.1, 1.2, 1.1, 1.1, 1.1])).toMatch(/ a .*WORSE/);
    expect(against([0.8, 0.9, 0.8, 0.8, 0.8])).toMatch(/ a .*better/);
    expect(against([0.9, 1.1, 1.1, 1.1, 1.1])).toMatch(/ a .*same/);
    expect(against([1.1, 1.1, 1.1, 1.1, 1.1], 'a')).toMatch(/new/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
