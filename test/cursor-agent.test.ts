import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startDaemon } from './helpers/daemon.ts';
import { connectAgent } from './helpers/mcp.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const program = join(import.meta.dirname, 'fixtures/cursor-agent');
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cursor-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));

/** A daemon whose agents are the stand-in for cursor-agent; it can be killed and started again. */
function start() {
  const settings = `command = ${JSON.stringify(program)}\nenv = { HOME = ${JSON.stringify(directory)} }`;
  const config = `[daemon]\ndefault_provider = "cursor-agent"\n[sandbox]\nmode = "none"\n[server]\nbind = "127.0.0.1:0"\n[providers.cursor-agent]\n${settings}\n`;
  writeFileSync(join(directory, 'substrat.toml'), config);
  return startDaemonProcess({ home: join(directory, 'home'), cwd: directory });
}

test('an agent asks its child and answers with the reply, though the daemon is killed in between', async () => {
  const signal = join(directory, 'signal');
  const first = await start();
  await first.client.createAgent({ name: 'lead' });
  const text = [
    '[[call spawn_agent {"name":"child","instructions":"Answer."}]]',
    `[[call send_message ${JSON.stringify({ recipient: 'child', text: `<<wait ${signal}>> What is 6 x 7?` })}]]`,
  ].join('\n');
  const { messageId } = await first.client.sendMessage('lead', { text });
  await until('the child is at work', () => existsSync(`${signal}.awaited`));
  await first.kill();

  const second = await start();
  writeFileSync(signal, '');
  const reply = await second.client.awaitReply(messageId, 20);
  // The child's second attempt resumed the chat of the first, and the lead's second turn that of its first.
  expect(reply?.text).toBe(`I heard: I heard: <<wait ${signal}>> What is 6 x 7? (turn 2) (turn 2)`);
  expect(
    readdirSync(join(directory, '.cursor/chats'), { recursive: true }).filter((path) => `${path}`.endsWith('store.db')),
  ).toHaveLength(2);
  expect(await second.stop()).toBe(0);
});

test('a chat that is gone is begun anew with the journal of the conversation, and the person is told', async () => {
  const daemon = await start();
  await daemon.client.createAgent({ name: 'solo' });
  const ask = async (text: string) => {
    const { messageId } = await daemon.client.sendMessage('solo', { text });
    return (await daemon.client.awaitReply(messageId, 20))?.text;
  };
  expect(await ask('My colour is blue.')).toBe('I heard: My colour is blue. (turn 1)');
  rmSync(join(directory, '.cursor/chats'), { recursive: true });
  expect(await ask('What is it?')).toBe('I heard: What is it? (turn 1)');
  expect(await ask('And now?')).toBe('I heard: And now? (turn 2)');

  const { items } = await daemon.client.listRuns({});
  const records = await Promise.all(items.map(({ id }) => daemon.client.getRun(id)));
  const prompts = records.flatMap(({ messages }) => messages.filter(({ type }) => type === 'user_message'));
  const told = prompts.filter(({ content }) =>
    `${content}`.includes('> My colour is blue.\n< I heard: My colour is blue.'),
  );
  expect(told).toHaveLength(1);
  const inbox = await daemon.client.listInbox({});
  expect(inbox.items.map((message) => message.text)).toContainEqual(
    expect.stringContaining('solo begins a new session'),
  );
  expect(await daemon.stop()).toBe(0);
});

test('an agent with more tools than the program takes is not created, nor spawned', async () => {
  const servers = Array.from({ length: 40 }, (_, i) => [`server${i}`, { url: 'https://example.com' }]);
  mkdirSync(join(directory, '.cursor'));
  writeFileSync(join(directory, '.cursor/mcp.json'), JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  const config = '[daemon]\ndefault_provider = "cursor-agent"\n[sandbox]\nmode = "none"\n';
  await using daemon = await startDaemon({ config, members: { me: { workspace: directory } } });
  const refused = { code: 'cap_reached', message: expect.stringContaining('cursor-agent takes 40 tools') };
  const creation = { name: 'x', provider: 'cursor-agent', workspace: directory };
  await expect(daemon.client.createAgent(creation)).rejects.toMatchObject(refused);
  await using me = await connectAgent({ home: daemon.home, agentId: daemon.agent('me').id });
  const { value } = await me.call('spawn_agent', { name: 'x', instructions: 'Be.' });
  expect(value.error).toEqual(refused);
  expect((await daemon.client.listAgents()).items.map(({ name }) => name)).toEqual(['me']);
  expect(await daemon.client.createAgent({ ...creation, workspace: join(directory, 'other') })).toMatchObject({
    name: 'x',
  });
});
