import { describe, expect, test } from 'vitest';
import { agentStatus, type Standing, showStatus } from './status.ts';

const NOW = 1000;
const idle: Standing = {
  terminatedAt: null,
  pausedAt: null,
  pausedReason: null,
  gatedAt: null,
  permitted: false,
  restUntil: 0,
  nodeName: 'host',
  nodeLostAt: null,
  runState: null,
  runCreatedAt: null,
  runNotBefore: null,
  runFailedAt: null,
  runBudgetId: null,
  runError: null,
  runProgress: null,
  runProgressReason: null,
  runProgressSince: null,
};
const waits = { runState: 'created', runCreatedAt: 400, runNotBefore: 0 } as const;
const failed = { ...waits, runNotBefore: 1500, runFailedAt: 600, runError: 'it broke' };
const refused = { ...failed, restUntil: 1500 };
const paused = { pausedAt: 700, pausedReason: 'why' };

describe('agentStatus()', () => {
  test.each([
    ['an agent with nothing to do', {}],
    ['an agent that takes a turn', { ...refused, runState: 'running' }],
    ['a terminated agent', { ...paused, ...refused, terminatedAt: 900 }],
    ['an agent that has rested', { restUntil: NOW }],
  ] as const)('is null for %s', (_, agent) => {
    expect(agentStatus({ ...idle, ...agent }, NOW)).toBeNull();
  });

  test.each([
    ['queued', waits, { reason: null, since: 400, until: null }],
    ['queued', { ...failed, runNotBefore: NOW }, { reason: 'it broke', since: NOW, until: null }],
    ['queued', { ...refused, runNotBefore: 0, restUntil: 800 }, { reason: 'it broke', since: 800, until: null }],
    ['parked', failed, { reason: 'it broke', since: 600, until: 1500 }],
    ['resting', refused, { reason: 'it broke', since: 600, until: 1500 }],
    ['resting', { restUntil: 1500 }, { reason: null, since: null, until: 1500 }],
    ['stranded', { ...failed, nodeLostAt: 600 }, { reason: expect.stringContaining('host'), since: 600, until: null }],
    ['stranded', { nodeLostAt: 600, runState: 'running' }, { reason: expect.any(String), since: 600, until: null }],
    ['paused', { ...paused, nodeLostAt: 600 }, { reason: 'why', since: 700, until: null }],
    ['paused', paused, { reason: 'why', since: 700, until: null }],
    ['paused', { ...refused, ...paused }, { reason: 'why', since: 700, until: null }],
    ['paused', { ...paused, runState: 'running' }, { reason: 'why', since: 700, until: null }],
  ] as const)('is %s for %o', (kind, agent, rest) => {
    expect(agentStatus({ ...idle, ...agent }, NOW)).toEqual({ kind, ...rest });
  });
});

test('showStatus() writes times as the API does', () => {
  expect(showStatus(null)).toBeNull();
  const status = { kind: 'parked', reason: 'it broke', since: null, until: 1500 } as const;
  expect(showStatus(status)).toEqual({ ...status, until: '1970-01-01T00:00:01.500Z' });
});
