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
});
