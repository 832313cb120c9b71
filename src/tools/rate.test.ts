import { describe, expect, test, vi } from 'vitest';
import { startDaemon } from '../../test/helpers/daemon.ts';
import { connectAgent } from '../../test/helpers/mcp.ts';
import { toolsInScope } from './catalog.ts';
import { createRateLimiter } from './rate.ts';
import type { Tool } from './tool.ts';

describe('createRateLimiter()', () => {
  test("allows a minute's worth of calls, then one per share of a minute", () => {
    const limiter = createRateLimiter(60);
    for (let i = 0; i < 60; i++) expect(limiter.take('a', 0)).toBe(null);
    expect(limiter.take('a', 0)).toBe(1);
    expect(limiter.take('a', 999)).toBe(1);
    expect(limiter.take('a', 1_000)).toBe(null);
    expect(limiter.take('a', 1_000)).toBe(1);
    for (let i = 0; i < 60; i++) expect(limiter.take('a', 10_000_000)).toBe(null);
    expect(limiter.take('a', 10_000_000)).toBe(1);
  });

  test('returns how many seconds are left', () => {
    const limiter = createRateLimiter(1);
    expect(limiter.take('a', 0)).toBe(null);
    expect(limiter.take('a', 0)).toBe(60);
    expect(limiter.take('a', 45_500)).toBe(15);
    expect(limiter.take('a', 60_000)).toBe(null);
  });

  test('counts each agent separately', () => {
    const limiter = createRateLimiter(1);
    expect(limiter.take('a', 0)).toBe(null);
    expect(limiter.take('b', 0)).toBe(null);
    expect(limiter.take('a', 0)).toBe(60);
  });

  test("gives back calls, but never beyond a minute's worth", () => {
    const limiter = createRateLimiter(2);
    limiter.giveBack('a');
    for (let i = 0; i < 10; i++) {
      expect(limiter.take('a', 0)).toBe(null);
      limiter.giveBack('a');
    }
    limiter.giveBack('a');
    expect([limiter.take('a', 0), limiter.take('a', 0), limiter.take('a', 0)]).toEqual([null, null, 30]);
  });

  const DAY = 86_400_000;
  test.each([
    ['forward', 2 * DAY],
    ['back', -2 * DAY],
  ])('survives a clock that jumps two days %s', (_, step) => {
    const limiter = createRateLimiter(60);
    let now = 10 * DAY;
    const takeAll = () => Array.from({ length: 61 }, () => limiter.take('a', now));
    const full = [...Array(60).fill(null), 1];
    expect(takeAll()).toEqual(full);
    now += step;
    // Forward, the bucket is full again; backward, the wait is that of one call, not two days.
    expect(limiter.take('a', now)).toBe(step > 0 ? null : 1);
    now += 60_000;
    expect(takeAll()).toEqual(full);
    now -= step;
    expect(limiter.take('a', now)).toBe(step > 0 ? 1 : null);
    now += 60_000;
    expect(takeAll()).toEqual(full);
  });
});

describe('the rate limit', () => {
  test('refuses a call before its work, unless it may be a reply', async () => {
    await using daemon = await startDaemon({
      config: '[limits]\ntool_calls_per_minute = 1\n',
      members: { lead: {}, worker: { parent: 'lead' } },
      clock: () => 1_000_000,
    });
    await using lead = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id });
    const executed = (name: string) => {
      const tool = toolsInScope(null).find((one) => one.name === name) as Tool;
      return vi.spyOn(tool, 'run');
    };
    const [list, store, send] = [executed('list_agents'), executed('store_memory'), executed('send_message')];
    const codes: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      codes.push((await lead.call('list_agents')).value.error?.code);
      codes.push((await lead.call('store_memory', { content: 'x' })).value.error?.code);
      codes.push((await lead.call('send_message', { recipient: 'worker', text: 'x' })).value.error?.code);
    }
    expect(codes).toEqual([undefined, ...Array(8).fill('rate_limited')]);
    expect([list, store, send].map(({ mock }) => mock.calls.length > 0)).toEqual([true, false, true]);
    vi.restoreAllMocks();
  });

  test('returns how long to wait, exempts replies, and reports it once', async () => {
    let now = 1_000_000;
    await using daemon = await startDaemon({
      config: '[limits]\ntool_calls_per_minute = 6\n',
      members: { lead: {}, worker: { parent: 'lead' } },
      clock: () => now,
    });
    await using lead = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id });
    await using worker = await connectAgent({ home: daemon.home, agentId: daemon.agent('worker').id });
    const asked: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { value } = await lead.call('send_message', { recipient: 'worker', text: `${i}?` });
      asked.push(value.message_id as string);
    }

    const answer = (in_reply_to: string | undefined) =>
      worker.call('send_message', { recipient: 'lead', text: 'Yes.', in_reply_to });
    expect((await answer(asked[0])).isError).toBe(false);
    for (let i = 0; i < 4; i++) expect((await worker.call('list_agents')).isError).toBe(false);
    expect((await answer(asked[1])).isError).toBe(false);
    expect((await worker.call('list_agents')).isError).toBe(false);
    expect((await worker.call('list_agents', { wrong: 1 })).value.error?.code).toBe('bad_request');

    const limited = {
      error: { code: 'rate_limited', message: 'Too many calls. Wait 10 seconds before the next one.' },
    };
    const subdir = { name: 'x', instructions: 'x', workspace_subdir: 'x' };
    for (const [tool, args] of [['list_agents'], ['list_agents', { wrong: 1 }], ['spawn_agent', subdir]] as const) {
      expect((await worker.call(tool, args)).value).toEqual(limited);
    }
    const told = (text: string) => worker.call('send_message', { recipient: 'lead', text, sync: false });
    expect((await told('News.')).value).toEqual(limited);
    expect((await answer(asked[2])).isError).toBe(false);
    expect((await told('News.')).value).toEqual(limited);
    expect((await lead.call('list_agents')).isError).toBe(false);

    now += 10_000;
    expect((await told('News.')).isError).toBe(false);
    expect((await told('News.')).value).toEqual(limited);
    expect((await answer(asked[3])).isError).toBe(false);

    const agentId = daemon.agent('worker').id;
    const records = await daemon.daemon.store.read((tx) => tx.records.listRecentRecords({ agentId, limit: 1_000 }));
    expect(records.filter(({ content }) => JSON.stringify(content).includes('rate_limited'))).toHaveLength(3);
    const texts = await daemon.daemon.store.read((tx) =>
      tx.deliveries.listPending({ agentId: daemon.agent('lead').id, limit: 100 }),
    );
    expect(texts.map(({ text }) => text)).toEqual(['Yes.', 'Yes.', 'Yes.', 'News.', 'Yes.']);
  });
});
