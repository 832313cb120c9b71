import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../../test/helpers/daemon.ts';
import { type ConnectedAgent, connectAgent } from '../../test/helpers/mcp.ts';
import { until } from '../../test/helpers/until.ts';

let daemon: TestDaemon;
let lead: ConnectedAgent;
let worker: ConnectedAgent;
let other: ConnectedAgent;

beforeAll(async () => {
  const members = { lead: {}, worker: { parent: 'lead' }, other: { parent: 'lead' }, sub: { parent: 'worker' } };
  daemon = await startDaemon({ members });
  const join = (name: string) => connectAgent({ home: daemon.home, agentId: daemon.agent(name).id });
  [lead, worker, other] = [await join('lead'), await join('worker'), await join('other')];
});

afterAll(async () => {
  for (const agent of [lead, worker, other]) await agent.close();
  await daemon.stop();
});

const inspect = async (name: string) => (await lead.call('inspect_agent', { name })).value;
const say = (from: ConnectedAgent, recipient: string, text: string) =>
  from.call('send_message', { recipient, text, sync: false });

describe('inspect_agent', () => {
  test('shows messages with the caller or to its team, and redacts every other conversation', async () => {
    await say(lead, 'worker', 'from-lead');
    await say(other, 'worker', 'SECRET from a sibling');
    await daemon.client.sendMessage('worker', { text: 'SECRET from a person' });
    await worker.call('check_inbox');
    await say(worker, 'LEAD', 'to-lead');
    await say(worker, 'other', 'SECRET to a sibling');
    await say(worker, 'sub', 'SECRET to a child');
    await say(worker, 'nobody', 'SECRET that was refused');
    await worker.call('send_message', { recipient: 5, text: 'SECRET of the wrong shape' });
    await worker.call('broadcast', { text: 'to-all' });

    const seen = JSON.stringify(await inspect('worker'));
    expect(seen).not.toContain('SECRET');
    for (const shown of ['from-lead', 'to-lead', 'to-all', 'not shown: a conversation']) expect(seen).toContain(shown);
  });

  test('redacts messages of other conversations in the prompt of a turn', async () => {
    const program = daemon.program('echo', "async () => 'Done.'");
    await daemon.client.createAgent({ name: 'scribe', parent: 'lead', program });
    await say(lead, 'scribe', 'news-from-lead');
    await say(other, 'scribe', 'SECRET news from a sibling');
    const { messageId } = await daemon.client.sendMessage('scribe', { text: 'SECRET question of a person' });
    expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ text: 'Done.' });
    const { recent_messages, state, status, usage, current } = await inspect('scribe');
    expect(JSON.stringify(recent_messages)).toContain('news-from-lead');
    expect(JSON.stringify(recent_messages)).toContain('USER: [not shown');
    expect(JSON.stringify(recent_messages)).not.toContain('SECRET');
    expect({ state, status, current }).toEqual({ state: 'idle', status: null, current: null });
    expect(usage).toMatchObject({ inputTokens: 0, outputTokens: 0, costUsd: 0 });
  });

  test('says what holds a child back', async () => {
    const failure = { type: 'error', kind: 'rate_limit', message: 'Too many.', retryAfterMs: 3_600_000 };
    const source = `async () => { console.log('${JSON.stringify(failure)}'); process.exit(1); }`;
    await daemon.client.createAgent({ name: 'limited', parent: 'lead', program: daemon.program('limited', source) });
    await say(lead, 'limited', 'go');
    const resting = {
      kind: 'resting',
      reason: 'Too many.',
      since: expect.stringMatching(/Z$/),
      until: expect.stringMatching(/Z$/),
    };
    await until('the rest', async () => ((await inspect('limited')).status as { until?: string } | null)?.until);
    expect((await inspect('limited')).status).toEqual(resting);
  });

  test("redacts messages from somebody else with the caller's name", async () => {
    const { client, home } = daemon;
    const join = (agentId: string) => connectAgent({ home, agentId });
    const namesake = await client.createAgent({ name: 'bob', provider: 'external' });
    const bob = await client.createAgent({ name: 'bob', parent: 'lead', provider: 'external' });
    const kid = await client.createAgent({ name: 'kid', parent: bob.id, provider: 'external' });
    await client.createChannel({ id: 'den', kind: 'private', members: [namesake.id, kid.id] });
    await client.createChannel({ id: 'hut', kind: 'private', members: [bob.id, kid.id] });
    await using stranger = await join(namesake.id);
    await using parent = await join(bob.id);
    await using child = await join(kid.id);
    await stranger.call('send_message', { channelId: 'den', text: '@kid SECRET' });
    await parent.call('send_message', { channelId: 'hut', text: '@kid our own' });
    await child.call('check_inbox');
    const seen = JSON.stringify((await parent.call('inspect_agent', { name: 'kid' })).value);
    expect(seen).not.toContain('SECRET');
    expect(seen).toContain('our own');
  });

  test('redacts a final text that answered somebody else, and shows one that answered the caller', async () => {
    const program = daemon.program(
      'teller',
      `async ({ prompt, say }) => {
        const said = prompt.includes('lead') ? 'for-lead' : 'SECRET';
        say(said);
        return said;
      }`,
    );
    await daemon.client.createAgent({ name: 'teller', parent: 'lead', program });
    const { messageId } = await daemon.client.sendMessage('teller', { text: 'Well?' });
    expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ text: 'SECRET' });
    await lead.call('send_message', { recipient: 'teller', text: 'And for me, your lead?' });
    const runs = () => daemon.client.listRuns({ agent: 'teller', state: 'completed' });
    await until('both are done', async () => (await runs()).items.length === 2);
    const seen = JSON.stringify(await inspect('teller'));
    expect(seen).toContain('for-lead');
    expect(seen).not.toContain('SECRET');
  });

  test("does not show the agent's memory", async () => {
    const program = daemon.program(
      'mindful',
      `async ({ call }) => {
        await call('update_memory', { label: 'mood', content: 'SECRET mood' });
        await call('store_memory', { content: 'SECRET passage' });
        await call('search_memory', { query: 'SECRET' });
        return 'Done.';
      }`,
    );
    await daemon.client.createAgent({ name: 'mindful', parent: 'lead', program, instructions: 'Think.' });
    for (const text of ['one', 'two']) {
      const { messageId } = await daemon.client.sendMessage('mindful', { text });
      expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ text: 'Done.' });
    }
    const seen = JSON.stringify(await inspect('mindful'));
    expect(seen).not.toContain('SECRET');
    for (const shown of ['Think.', 'not shown: its memory', 'search_memory']) expect(seen).toContain(shown);
  });

  test('shows the last twenty entries, each shortened, and the current run', async () => {
    for (let i = 0; i < 15; i++) await say(worker, 'lead', `${i} ${'x'.repeat(5_000)}`);
    const { recent_messages, current, state, pending, children } = await inspect('worker');
    const recent = recent_messages as { type: string; tool: string; text: string; at: string }[];
    expect(recent).toHaveLength(20);
    expect(Math.max(...recent.map(({ text }) => text.length))).toBeLessThanOrEqual(300);
    expect(recent.at(-1)).toMatchObject({ type: 'tool_return_message', tool: 'send_message' });
    expect(recent.at(-2)?.text).toMatch(/14 xxx/);
    expect(current).toMatchObject({ run: expect.any(String), last_tool: 'send_message', since: expect.any(String) });
    expect({ state, pending, children }).toEqual({ state: 'busy', pending: 0, children: ['sub'] });
  });

  test.each(['lead', 'other', 'sub', 'USER', 'nobody', '../worker'])(
    'of the worker cannot be asked about %s',
    async (name) => {
      const { value } = await worker.call('inspect_agent', { name });
      if (name === 'sub') expect(value).toMatchObject({ state: 'idle' });
      else expect(value).toEqual({ error: { code: 'not_found', message: `"${name}" is not one of your children.` } });
    },
  );
});
