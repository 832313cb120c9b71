import { describe, expect, test } from 'vitest';
import type { Run } from '../../../../src/client/browser.ts';
import { toHours } from './hours.ts';

const NOW = Date.parse('2026-03-01T12:30:00Z');
const at = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
const run = (created: number, started: number | null, state: Run['state'] = 'completed'): Run =>
  ({
    createdAt: at(created),
    startedAt: started === null ? null : at(started),
    endedAt: started === null ? null : at(started - 1),
    state,
  }) as Run;

describe('toHours()', () => {
  test('counts runs, failures, the median wait and the longest queue of each hour', () => {
    const runs = [run(20, 18), run(20, 16), run(19, 10, 'failed'), run(80, 79), run(5, null, 'created')];
    const [before, last] = toHours(runs, NOW, 2);
    expect(before).toMatchObject({ at: Date.parse('2026-03-01T11:00:00Z'), runs: 1, failed: 0, wait: 60, queue: 1 });
    expect(last).toMatchObject({ at: Date.parse('2026-03-01T12:00:00Z'), runs: 3, failed: 1, wait: 240, queue: 3 });
  });

  test('is zero where nothing happened', () => {
    expect(toHours([], NOW, 3).map(({ runs, queue, wait }) => [runs, queue, wait])).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });
});
