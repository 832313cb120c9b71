import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noBwrap } from './helpers/bwrap.ts';
import { startDaemon } from './helpers/daemon.ts';
import { connectAgent } from './helpers/mcp.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const ctx = join(import.meta.dirname, '../bin/ctx');
const program = join(import.meta.dirname, 'fixtures/cursor-agent');
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cursor-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));

/** A daemon whose agents use the stand-in for cursor-agent; it can be killed and restarted. */
function start(mode: 'bwrap' | 'none', env: Record<string, string> = {}, more = '') {
  const settings = `command = ${JSON.stringify(program)}\nenv = { HOME = ${JSON.stringify(directory)} }`;
  const config = `[daemon]\ndefault_provider = "cursor-agent"\n[sandbox]\nmode = "${mode}"\n[server]\nbind = "127.0.0.1:0"\n[providers.cursor-agent]\n${settings}\n${more}`;
  writeFileSync(join(directory, 'substrat.toml'), config);
  return startDaemonProcess({ home: join(directory, 'home'), config: join(directory, 'substrat.toml'), env });
}

/** The person's own settings for cursor-agent. */
function permit(permissions: { allow?: string[]; deny?: string[] }): void {
  mkdirSync(join(directory, '.cursor'), { recursive: true });
  writeFileSync(join(directory, '.cursor/cli-config.json'), JSON.stringify({ permissions }));
}

/** Where each agent's program stores its chats: in its own home, or in the person's without a sandbox. */
const stores = () =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('/store.db'));

describe.each(['none', ...(noBwrap ? [] : ['bwrap'])] as ('bwrap' | 'none')[])('with the sandbox %s', (mode) => {
  test('an agent asks its child and answers with the reply, although the daemon is killed in between', async () => {
    const workspace = join(directory, 'work');
    const signal = join(workspace, 'signal');
    const first = await start(mode);
    await first.client.createAgent({ name: 'lead', workspace });
    const text = [
      '[[call spawn_agent {"name":"child","instructions":"Answer."}]]',
      `[[call send_message ${JSON.stringify({ recipient: 'child', text: `<<wait ${signal}>> What is 6 x 7?` })}]]`,
    ].join('\n');
    const { messageId } = await first.client.sendMessage('lead', { text });
    await until('the child is at work', () => existsSync(`${signal}.awaited`));
    await first.kill();

    const second = await start(mode);
    writeFileSync(signal, '');
    const reply = await second.client.awaitReply(messageId, 20);
    // The child's second attempt resumed the chat of the first, and the lead's second turn that of its first.
    expect(reply?.text).toBe(`I heard: I heard: <<wait ${signal}>> What is 6 x 7? (turn 2) (turn 2)`);
    const inHome = mode === 'bwrap' ? /^home\/agents\/[\w-]+\/home\/\.cursor\/chats\// : /^\.cursor\/chats\//;
    expect(stores()).toEqual([expect.stringMatching(inHome), expect.stringMatching(inHome)]);
    expect(await second.stop()).toBe(0);
  });

  test('an agent with a persona follows its prompt, uses its tools and is refused others', async () => {
    const base = '[connectors.filesystem.docs]\nroot = "docs"\n';
    mkdirSync(join(directory, 'docs'));
    writeFileSync(
      join(directory, 'docs/queue.md'),
      '# The queue\n\nWhen the queue of orders is full, restart the worker.\n',
    );
    const persona =
      '[agents.helper]\ndescription = "Helps"\ntools = ["search"]\nsystem_prompt = "You help with orders."\n';
    writeFileSync(join(directory, 'sync.toml'), base);
    const env = { PATH: process.env.PATH, HOME: directory, SUBSTRAT_HOME: join(directory, 'home') };
    await promisify(execFile)(ctx, ['sync', '--config', join(directory, 'sync.toml')], { env });
    permit({ allow: ['Shell(cat)'] });
    const daemon = await start(mode, {}, base + persona);
    const agent = await daemon.client.createAgent({ name: 'helper', persona: 'helper' });
    const text = [
      '[[call search {"query":"queue of orders"}]]',
      '[[call sources {}]]',
      '[[force sources {}]]',
      '[[force send_message {"recipient":"USER","text":"hi"}]]',
      '[[shell cat .cursor/rules/substrat.mdc]]',
    ].join('\n');
    const { messageId } = await daemon.client.sendMessage('helper', { text });
    const [found, listed, sources, sent, ...rules] =
      (await daemon.client.awaitReply(messageId, 20))?.text.split('\n') ?? [];
    expect(JSON.parse(found ?? '')).toMatchObject({ results: [{ title: 'The queue' }] });
    expect(listed).toBe('there is no tool sources');
    expect(sources).toContain('There is no tool "sources" in the scope of helper.');
    expect(sent).toContain('There is no tool "send_message" in the scope of helper.');
    expect(rules.join('\n')).toContain('## Persona\n\nYou help with orders.\n');
    const { items } = await daemon.client.listRuns({ agent: agent.id });
    const { messages } = await daemon.client.getRun(items[0]?.id as string);
    const returned = messages.filter(({ type, tool }) => type === 'tool_return_message' && tool === 'search');
    expect(returned).toHaveLength(1);
    const called = messages.filter(({ type }) => type === 'tool_call_message').map(({ tool }) => tool);
    expect(called).toEqual(['search', 'shell']);
    expect(await daemon.stop()).toBe(0);
  });

  test("a call that the person's rules deny is rejected, and the turn fails and names the rule", async () => {
    permit({ deny: ['Mcp(substrat:list_agents)'] });
    const daemon = await start(mode);
    await daemon.client.createAgent({ name: 'solo' });
    const { messageId } = await daemon.client.sendMessage('solo', { text: '[[call list_agents {}]]' });
    const reply = await daemon.client.awaitReply(messageId, 60);
    expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining('"Mcp(substrat:list_agents)"') });
    expect(await daemon.stop()).toBe(0);
  });

  test('a lost chat is replaced by a new one with the journal of the conversation, and the person is notified', async () => {
    const daemon = await start(mode);
    await daemon.client.createAgent({ name: 'solo' });
    const ask = async (text: string) => {
      const { messageId } = await daemon.client.sendMessage('solo', { text });
      return (await daemon.client.awaitReply(messageId, 20))?.text;
    };
    expect(await ask('My colour is blue.')).toBe('I heard: My colour is blue. (turn 1)');
    for (const store of stores()) rmSync(join(directory, store));
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
      expect.stringContaining('solo starts a new session'),
    );
    expect(await daemon.stop()).toBe(0);
  });
});

test.skipIf(noBwrap !== null)(
  'in the sandbox an agent cannot change or move its .cursor, its login or its permissions',
  async () => {
    mkdirSync(join(directory, '.config/cursor'), { recursive: true });
    writeFileSync(join(directory, '.config/cursor/auth.json'), 'the login');
    const workspace = join(directory, 'work');
    mkdirSync(join(workspace, '.cursor'), { recursive: true });
    writeFileSync(join(workspace, '.cursor/own'), 'as it was');
    permit({ allow: ['Shell(cat)'] });
    const daemon = await start('bwrap', { HOME: directory });
    await daemon.client.createAgent({ name: 'solo', workspace });
    const ask = async (command: string) => {
      const { messageId } = await daemon.client.sendMessage('solo', { text: `[[shell ${command}]]` });
      return (await daemon.client.awaitReply(messageId, 60))?.text;
    };
    const commands = [
      'cat .cursor/own',
      'cat ~/.config/cursor/auth.json',
      'for f in .cursor/mcp.json .cursor/rules/substrat.mdc .cursor/new .cursor/cli.json ~/.config/cursor/auth.json; do echo x > $f || true; done',
      'mv .cursor moved || rm -rf .cursor || mv ~/.config/cursor/auth.json ~/moved || echo all refused',
    ];
    const said = await ask(commands.join('; echo; '));
    expect(said).toMatch(/^as it was\nthe login\n/);
    expect(said).toMatch(/all refused\n$/);
    expect(said?.match(/Read-only file system/g)?.length).toBeGreaterThanOrEqual(5);
    expect(readdirSync(join(workspace, '.cursor'))).toEqual(['own']);

    // An agent may write its own configuration, for this turn.
    const wider = '{"permissions":{"allow":["Shell(*)"]}}';
    const written = `cat ~/.cursor/cli-config.json; echo '${wider}' | tee ~/.cursor/cli-config.json > ~/.cursor/permissions.json; ls ~/.cursor`;
    expect(await ask(written)).toMatch(/Mcp\(substrat:\*\)[\s\S]*permissions\.json/);
    expect(await ask('ls ~/.cursor')).toBe('rejected');
    expect(await ask('cat ~/.cursor/cli-config.json ~/.cursor/permissions.json')).not.toContain('Shell(*)');
    expect(await daemon.stop()).toBe(0);
  },
);

test('an agent with more tools than the program accepts is neither created nor spawned', async () => {
  const servers = Array.from({ length: 40 }, (_, i) => [`server${i}`, { url: 'https://example.com' }]);
  mkdirSync(join(directory, '.cursor'));
  writeFileSync(join(directory, '.cursor/mcp.json'), JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  const config = '[daemon]\ndefault_provider = "cursor-agent"\n';
  await using daemon = await startDaemon({ config, members: { me: { workspace: directory } } });
  const refused = { code: 'cap_reached', message: expect.stringContaining('cursor-agent supports at most 40 tools') };
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
