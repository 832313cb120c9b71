import { expect, test } from 'vitest';
import { load } from '../config/config.testkit.ts';
import { heartbeatMs, patienceMs } from './presence.ts';

test.each([
  ['500ms', '500ms', 250],
  ['2s', '2s', 1_000],
  ['2s', '2500ms', 1_375],
  ['30s', '30s', 20_500],
  ['30s', '60s', 22_500],
  ['1h', '1h', 2_698_000],
])('with a lease of %s and dead_after of %s, turns end a grace before others act', (lease, deadAfter, expected) => {
  const config = load(`[daemon]\nlease = "${lease}"\n[node]\ndead_after = "${deadAfter}"\n`);
  const { leaseMs } = config.daemon;
  const patience = patienceMs(config);
  expect(patience).toBe(expected);
  expect(patience).toBeGreaterThanOrEqual(leaseMs / 2);
  expect(patience).toBeLessThan(leaseMs);
  const grace = Math.min(2_000, leaseMs / 4);
  expect(patience + heartbeatMs(config) + grace).toBeLessThanOrEqual(config.node.deadAfterMs ?? 0);
});
