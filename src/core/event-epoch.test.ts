import { expect, test } from 'vitest';
import { nextEpoch } from './event-epoch.ts';

const NOW = Date.UTC(2026, 10, 17);

test('numbers after a restore are beyond those of every earlier history, of the same backup too', () => {
  const first = nextEpoch(4_200, NOW);
  expect(first).toBeGreaterThan(4_200);
  // The first history goes on for an hour, with a thousand events a second, and is replaced by the same backup again.
  const second = nextEpoch(4_200, NOW + 3_600_000);
  expect(second).toBeGreaterThan(first + 3_600 * 1_000);
});

test('a clock that is wrong does not lead back', () => {
  const first = nextEpoch(4_200, NOW);
  expect(nextEpoch(first + 7, 0)).toBeGreaterThan(first + 7);
  expect(Number.isSafeInteger(nextEpoch(4_200, Date.UTC(2826, 0)))).toBe(true);
});
