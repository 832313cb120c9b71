import { describe, expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

describe('search_messages', () => {
  test("finds what was said in one's own channels and runs, best first, and nothing of others", async () => {
    const world = await createWorld();
    await world.create('anna');
    await world.create('bert');
    const results: { messages: { text: string; channelId: string | null; from: string }[] }[] = [];
    const search = async (call: (name: string, args: object) => Promise<unknown>, args: object) =>
      results.push((await call('search_messages', args)) as never);
    world.behave('bert', async () => 'The secret harbour of Bert.');
    await world.ask('bert', 'Which harbour do you keep secret?');
    await world.settle();
    world.behave('anna', async () => 'The release is on Friday.');
    await world.ask('anna', 'When is the release of the harbour page?');
    await world.settle();
    world.behave('anna', async ({ call }) => {
      await search(call, { query: 'releases on friday' });
      await search(call, { query: 'harbour' });
      await search(call, { query: 'harbour', until: '1970-01-01' });
      await search(call, { query: 'nowhere' });
      return 'done';
    });
    await world.ask('anna', 'Look.');
    await world.settle();
    const [release, harbour, before, nothing] = results.map(({ messages }) => messages.map(({ text }) => text));
    expect(release).toEqual(['The release is on Friday.', 'When is the release of the harbour page?']);
    expect(harbour).toEqual(['When is the release of the harbour page?']);
    expect(before).toEqual([]);
    expect(nothing).toEqual([]);
  });

  test('over long texts leaves others their turn', async () => {
    const world = await createWorld();
    await world.create('anna');
    const long = `harbour ${'\ufdfa'.repeat(20_000)} ${'words and words '.repeat(60_000)}`.slice(0, 1_000_000);
    for (let n = 0; n < 8; n += 1) {
      world.behave('anna', async () => `${n} ${long}`.slice(0, 1_000_000));
      await world.ask('anna', `harbour ${n}`);
      await world.settle();
    }
    let longest = 0;
    let found: readonly unknown[] = [];
    world.behave('anna', async ({ call }) => {
      const before = process.threadCpuUsage();
      let last = 0;
      const watch = setInterval(() => {
        const { user, system } = process.threadCpuUsage(before);
        longest = Math.max(longest, user + system - last);
        last = user + system;
      }, 1);
      found = ((await call('search_messages', { query: 'harbour', limit: 100 })) as { messages: unknown[] }).messages;
      await new Promise((resolve) => setTimeout(resolve, 2));
      clearInterval(watch);
      return 'done';
    });
    await world.ask('anna', 'Look.');
    await world.settle();
    expect(found).not.toHaveLength(0);
    expect(longest / 1_000).toBeLessThan(400);
  });
});
