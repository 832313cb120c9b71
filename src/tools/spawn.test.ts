import { mkdirSync, readdirSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filesIn, startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { type ConnectedAgent, connectAgent } from '../../test/helpers/mcp.ts';

let daemon: TestDaemon;
let lead: ConnectedAgent;
let workspace: string;
let outside: string;

beforeAll(async () => {
  daemon = await startDaemon({
    config: '[daemon]\nmax_attempts = 1\n',
    members: { lead: {}, clerk: { tools: ['spawn_agent', 'list_agents'] } },
  });
  lead = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id });
  workspace = daemon.agent('lead').workspace;
  outside = join(daemon.directory, 'outside');
  mkdirSync(join(outside, 'inner'), { recursive: true });
  mkdirSync(join(workspace, 'there'));
  writeFileSync(join(workspace, 'file'), '');
  symlinkSync(outside, join(workspace, 'out'));
  symlinkSync(join(workspace, 'there'), join(workspace, 'in'));
  symlinkSync(join(outside, 'nothing'), join(workspace, 'dangling'));
  symlinkSync('loop', join(workspace, 'loop'));
});

afterAll(async () => {
  await lead.close();
  await daemon.stop();
});

const brief = (text: string) => JSON.stringify(text).slice(0, 20);
let count = 0;
const spawn = (workspace_subdir?: string | null) =>
  lead.call('spawn_agent', {
    name: `child-${++count}`,
    instructions: 'Wait.',
    ...(workspace_subdir !== undefined && { workspace_subdir }),
  });
const tree = () =>
  filesIn(daemon.directory)
    .filter((path) => !path.includes('substrat.db'))
    .sort();

describe('workspace_subdir', () => {
  test.each([
    [undefined, ''],
    [null, ''],
    ['', ''],
    ['.', ''],
    ['there', '/there'],
    ['new', '/new'],
    ['a/b/../c/./d', '/a/c/d'],
    [' ', '/ '],
    ['😀', '/😀'],
  ])("%j is %j in the parent's workspace", async (subdir, path) => {
    const { value } = await spawn(subdir);
    expect(value).toMatchObject({ status: 'created' });
    const child = await daemon.client.getAgent(value.agent_id as string);
    expect(child.workspace).toBe(`${workspace}${path}`);
    expect(readdirSync(child.workspace)).toEqual(expect.any(Array));
  });

  const refused: [string, string][] = [
    ['..', 'forbidden'],
    ['../x', 'forbidden'],
    ['a/../../x', 'forbidden'],
    ['/etc', 'forbidden'],
    ['/', 'forbidden'],
    ['x\0y', 'bad_request'],
    ['out', 'forbidden'],
    ['out/new', 'forbidden'],
    ['out/inner', 'forbidden'],
    ['new2/../out', 'forbidden'],
    ['in', 'forbidden'],
    ['dangling', 'forbidden'],
    ['dangling/x', 'forbidden'],
    ['loop/x', 'forbidden'],
    ['file', 'bad_request'],
    ['file/x', 'bad_request'],
    ['made/then/file/../../../file', 'bad_request'],
    ['n'.repeat(300), 'bad_request'],
    [`made/${'n'.repeat(300)}`, 'bad_request'],
    ['d/'.repeat(3_000), 'bad_request'],
  ];
  test.each(refused.map(([subdir, code]) => [brief(subdir), subdir, code]))(
    '%s is refused and leaves nothing behind',
    async (_, subdir, code) => {
      const [files, rows] = [tree(), await storeRows(daemon.home)];
      expect((await spawn(subdir)).value.error?.code).toBe(code);
      expect(tree()).toEqual(files);
      expect(await storeRows(daemon.home)).toEqual(rows);
    },
  );

  test('an agent does not run if its directory was replaced by a symlink to elsewhere', async () => {
    const ran = join(daemon.directory, 'ran');
    const program = daemon.program(
      'touch',
      `async () => { (await import('node:fs')).writeFileSync(${JSON.stringify(ran)}, ''); return 'Here.'; }`,
    );
    const boss = await daemon.client.createAgent({ name: 'boss', program });
    mkdirSync(join(boss.workspace, 'sub/deep'), { recursive: true });
    const deep = join(boss.workspace, 'sub/deep');
    await daemon.client.createAgent({ name: 'minion', parent: 'boss', program, workspace: deep });
    const ask = async () =>
      daemon.client.awaitReply((await daemon.client.sendMessage('minion', { text: 'Go.' })).messageId, 20);
    expect(await ask()).toMatchObject({ kind: 'reply', text: 'Here.' });

    renameSync(ran, `${ran}.before`);
    rmdirSync(deep);
    symlinkSync(outside, deep);
    expect(await ask()).toMatchObject({ kind: 'error', text: expect.stringMatching(/is a symbolic link/) });
    renameSync(join(boss.workspace, 'sub'), join(outside, 'moved'));
    symlinkSync(join(outside, 'moved'), join(boss.workspace, 'sub'));
    expect(await ask()).toMatchObject({ kind: 'error', text: expect.stringMatching(/is a symbolic link/) });
    expect(readdirSync(daemon.directory)).not.toContain('ran');
  });
});

describe('a child of an external agent', () => {
  test('that nothing runs is created with a note about it', async () => {
    const { value } = await lead.call('spawn_agent', { name: 'idle', instructions: 'Wait.' });
    expect(value).toEqual({
      status: 'created',
      agent_id: expect.any(String),
      name: 'idle',
      note: expect.stringMatching(/^idle does not run yet\. .*default_provider.*`substrat agent mcp idle`\.$/),
    });
  });
});

describe('the scope of a child', () => {
  test('is that of its parent, and never wider', async () => {
    await using clerk = await connectAgent({ home: daemon.home, agentId: daemon.agent('clerk').id });
    const { value } = await clerk.call('spawn_agent', { name: 'sub', instructions: 'Wait.' });
    await using child = await connectAgent({ home: daemon.home, agentId: value.agent_id as string });
    expect((await child.client.listTools()).tools.map((tool) => tool.name)).toEqual(['spawn_agent', 'list_agents']);
    await expect(child.call('send_message', { recipient: 'clerk', text: 'x' })).rejects.toMatchObject({ code: -32602 });
  });

  test('cannot be widened by a person', async () => {
    const wish = { parent: 'clerk', provider: 'external' };
    const wider = daemon.client.createAgent({ ...wish, name: 'wide', tools: ['list_agents', 'complete', 'broadcast'] });
    await expect(wider).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(/complete, broadcast/),
    });
    const narrower = await daemon.client.createAgent({
      ...wish,
      name: 'narrow',
      tools: ['list_agents', 'list_agents'],
    });
    expect(narrower.tools).toEqual(['list_agents']);
    expect((await daemon.client.createAgent({ ...wish, name: 'none', tools: [] })).tools).toEqual([]);
  });

  test('accepts only tools that exist', async () => {
    const wrong = daemon.client.createAgent({ name: 'odd', provider: 'external', tools: ['list_agents', 'fly'] });
    await expect(wrong).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(/Unknown tools: fly\./),
    });
  });
});

describe('spawn_agent', () => {
  const odd = ['', ' ', '.', '..', 'a/b', 'a.b', '-a', '_a', 'a b', 'ä', '😀', 'a\n', 'a\0', 'n'.repeat(65)];
  test.each([...odd, 'USER', 'system', 'Substrat'].map((name) => [brief(name), name]))(
    'refuses the name %s',
    async (_, name) => {
      const rows = await storeRows(daemon.home);
      expect((await lead.call('spawn_agent', { name, instructions: 'x' })).value.error?.code).toBe('bad_request');
      expect(await storeRows(daemon.home)).toEqual(rows);
    },
  );

  test('refuses a name of 10,000 characters with a short message', async () => {
    const { value } = await lead.call('spawn_agent', { name: 'n'.repeat(10_000), instructions: 'x' });
    expect(value.error?.message.length).toBeLessThan(300);
  });

  test('names the owner of a name that is taken', async () => {
    const first = await lead.call('spawn_agent', { name: 'Twin', instructions: 'x' });
    const { value } = await lead.call('spawn_agent', { name: 'tWIN', instructions: 'x' });
    expect(value).toEqual({
      error: { code: 'name_taken', message: expect.stringContaining(first.value.agent_id as string) },
    });
  });
});
