import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { until } from '../../test/helpers/until.ts';
import { createLive, type LiveEvent } from '../core/live.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { followElsewhere } from './live-elsewhere.ts';

const BELIEVED_MS = 300;

describeOnPostgres('live events of another node', () => {
  let stores: [Store, Store, Store];
  /** All that nodes told each other. */
  let whispers: string[];

  beforeEach(async () => {
    const { url, drop } = await createDatabase();
    stores = [await openStore({ url }), await openStore({ url }), await openStore({ url })];
    whispers = [];
    stores[2].onWhisper((text) => whispers.push(text));
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await drop();
    });
  });

  function node(store: Store, nodeId: string) {
    const live = createLive();
    const elsewhere = followElsewhere(live, store, nodeId, BELIEVED_MS);
    onTestFinished(() => elsewhere.stop());
    const call = (agentId: string, text: string) =>
      live.publish({ type: 'live_tool_call', tool: 't', runId: 'r', agentId, attempt: 1, text });
    const write = (agentId: string, text: string) =>
      live.publish({ type: 'live_text', runId: 'r', agentId, attempt: 1, text });
    return { ...elsewhere, call, write };
  }
  /** Resolves when a node hears of a follower, at once: it does not believe it for long. */
  const followedAt = (store: Store) =>
    new Promise<void>((resolve) => {
      store.onWhisper((text) => {
        if (text.includes('follows')) resolve();
      });
    });

  test('reach a reader once, whole, and only those of the agent that it follows', async () => {
    const [a, b] = [node(stores[0], 'a'), node(stores[1], 'b')];
    const heard: LiveEvent[] = [];
    const followed = followedAt(stores[0]);
    b.subscribe((event) => heard.push(event), 'ann');
    await followed;
    b.call('ann', 'here');
    const long = `${'"é漢😀\n'.repeat(700)}.`;
    a.call('ben', 'not wanted');
    a.write('ann', long);
    a.call('ann', 'last');
    await until('the last one arrives', () => heard.some(({ text }) => text === 'last'));
    const texts = heard.filter(({ type }) => type === 'live_text').map(({ text }) => text);
    expect(texts.join('')).toBe(long);
    expect(heard.filter(({ type }) => type !== 'live_text').map(({ text }) => text)).toEqual(['here', 'last']);
    expect(whispers.join()).not.toContain('not wanted');
    expect(Math.max(...whispers.map((text) => Buffer.byteLength(text)))).toBeLessThan(8_000);
  });

  test('are not sent when nobody follows, or no longer', async () => {
    const [a, b] = [node(stores[0], 'a'), node(stores[1], 'b')];
    a.call('ann', 'to nobody');
    const heard: LiveEvent[] = [];
    const followed = followedAt(stores[0]);
    const leave = b.subscribe((event) => heard.push(event));
    await followed;
    a.call('ann', 'heard');
    await until('it arrives', () => heard.length === 1);
    leave();
    const since = performance.now();
    await until('it is no longer believed', () => performance.now() - since > BELIEVED_MS + 50);
    a.call('ann', 'to nobody any more');
    // Whatever was sent before this has arrived with it.
    stores[0].whisper('{"follows":"end","agents":[]}');
    await until('the end arrives', () => whispers.some((text) => text.includes('end')));
    expect(whispers.filter((text) => text.includes('live_'))).toHaveLength(1);
  });
});
