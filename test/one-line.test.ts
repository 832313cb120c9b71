import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from './helpers/daemon.ts';
import { connectAgent } from './helpers/mcp.ts';

const HIDDEN = '\u202e';
const NAMED = expect.stringContaining('U+202E RIGHT-TO-LEFT OVERRIDE');

let world: TestDaemon;
beforeAll(async () => {
  world = await startDaemon({ members: { me: {} } });
});
afterAll(() => world.stop());

describe("hidden characters in an agent's one-line field are refused by name", () => {
  test.each([
    ['store_memory', { content: 'x', tags: [`a${HIDDEN}b`] }],
    ['spawn_agent', { name: 'child', instructions: 'x', workspace_subdir: `a${HIDDEN}b` }],
    ['link_dir', { workspace: 'me', source: '.', target: `a${HIDDEN}b` }],
  ])('%s', async (tool, input) => {
    await using me = await connectAgent({ home: world.home, agentId: world.agent('me').id });
    const { isError, value } = await me.call(tool, input);
    expect([isError, value.error]).toEqual([true, { code: 'bad_request', message: NAMED }]);
  });

  test('react_to_message accepts an emoji joined from several', async () => {
    const { messageId } = await world.client.sendMessage('me', { text: 'hi' });
    await using me = await connectAgent({ home: world.home, agentId: world.agent('me').id });
    const hidden = await me.call('react_to_message', { messageId, emoji: `👍\u{e0041}` });
    expect(hidden.value.error).toMatchObject({ message: expect.stringContaining('U+E0041 TAG CHARACTER "A"') });
    const { value } = await me.call('react_to_message', { messageId, emoji: '👩‍🚀' });
    expect(value).toEqual({ success: true });
  });
});

test('hidden characters in such fields of the API and of the configuration are refused', async () => {
  const refused = { code: 'bad_request', message: NAMED };
  const text = `a${HIDDEN}b`;
  await expect(world.client.linkDirectory('me', { source: '/tmp', target: text })).rejects.toMatchObject(refused);
  await expect(world.client.storePassage('me', { content: 'x', tags: [text] })).rejects.toMatchObject(refused);
  await expect(world.client.createAgent({ name: 'x', provider: 'external', model: text })).rejects.toMatchObject(
    refused,
  );
  for (const config of [`[channels.x]\ntopic = "${text}"`, `[members.x]\nprovider = "external"\nrole = "${text}"`]) {
    await expect(startDaemon({ config })).rejects.toMatchObject({ message: NAMED });
  }
});
