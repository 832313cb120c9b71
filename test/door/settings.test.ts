import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { callRest } from '../helpers/rest.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;

beforeAll(async () => {
  world = await startDaemon();
  const program = world.program(
    'mirror',
    '({ instructions, workspace, messages }) => JSON.stringify({ instructions, workspace, cwd: process.cwd(), text: messages[0].text })',
  );
  for (const name of ['x', 'y', 'z']) await world.client.createAgent({ name, program, instructions: 'Old.' });
});

afterAll(() => world.stop());

async function ask(ref: string, text: string): Promise<Record<string, string>> {
  const { messageId } = await world.client.sendMessage(ref, { text });
  const reply = await until('the answer', () => world.client.awaitReply(messageId, 5));
  return JSON.parse(reply.text);
}

async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runSubstrat(args, { home: world.home });
}

describe('PATCH /api/agents/{id}', () => {
  test('changes settings if they have the revision that the caller read', async () => {
    const before = await world.client.getAgent('x');
    expect(before.revision).toBe(1);
    const changed = await world.client.changeAgent('x', { role: 'boss', instructions: 'New.' }, { ifRevision: 1 });
    expect(changed).toMatchObject({ role: 'boss', revision: 2, changed: ['role', 'instructions'], running: null });
    await expect(world.client.changeAgent('x', { role: 'late' }, { ifRevision: 1 })).rejects.toMatchObject({
      code: 'precondition_failed',
      message: 'The settings of x are at revision 2 now; read them again.',
    });
    const headers = { 'if-match': '"1"' };
    const late = { method: 'PATCH', path: '/api/agents/x', body: { role: 'late' }, headers };
    expect(await callRest(world.home, late)).toMatchObject({ status: 412 });
    expect((await world.client.getAgent('x')).role).toBe('boss');
    expect((await ask('x', 'hello')).instructions).toContain('New.');
    const { items } = await world.client.listSettings('x');
    expect(items.map(({ revision, by, settings }) => [revision, by, settings.role])).toEqual([
      [2, 'user', 'boss'],
      [1, null, 'worker'],
    ]);
    expect((await world.client.listSettings('y')).items).toHaveLength(1);
    const page = await world.client.listSettings('x', { limit: 1 });
    expect((await world.client.listSettings('x', { cursor: page.nextCursor ?? '' })).items).toHaveLength(1);
  });

  test('moves the agent to another workspace, where its next turn runs', async () => {
    const directory = join(world.directory, 'elsewhere');
    mkdirSync(directory);
    const { workspace, changed } = await world.client.changeAgent('y', { workspace: directory });
    expect({ workspace, changed }).toEqual({ workspace: directory, changed: ['workspace'] });
    expect((await ask('y', 'where?')).cwd).toBe(directory);
    expect((await world.client.changeAgent('y', { workspace: directory })).changed).toEqual([]);
    await expect(world.client.changeAgent('y', { workspace: 'nowhere' })).rejects.toThrow('There is no workspace');
  });

  test('refuses what a new agent could not have either', async () => {
    const change = (wish: object) => world.client.changeAgent('z', wish);
    await expect(change({ provider: 'nobody' })).rejects.toThrow('There is no provider "nobody"');
    await expect(change({ program: '/no/such/program' })).rejects.toThrow('does not exist');
    await expect(change({ tools: ['no_such_tool'] })).rejects.toThrow('no_such_tool');
    await expect(change({ persona: 'nobody' })).rejects.toThrow('nobody');
    await expect(change({ arguments: { a: 'b' } })).rejects.toThrow('must be used with a persona');
    await expect(change({ colour: 'red' })).rejects.toThrow('colour');
    expect((await world.client.getAgent('z')).revision).toBe(1);
  });

  test('makes an agent external and back', async () => {
    await world.client.changeAgent('z', { provider: 'external' });
    expect((await world.client.getMcpConfig('z')).agentId).toBe((await world.client.getAgent('z')).id);
    await world.client.changeAgent('z', { provider: 'scripted' });
    await expect(world.client.getMcpConfig('z')).rejects.toThrow('only agents with the provider "external"');
    expect((await ask('z', 'back?')).text).toBe('back?');
  });

  test('is announced as an event', async () => {
    const abort = new AbortController();
    const events = world.client.followEvents({ after: 0, types: ['agent_updated'], signal: abort.signal });
    const first = await events.next();
    abort.abort();
    expect(first.value?.data).toMatchObject({ agent: 'x', revision: 2, changed: ['role', 'instructions'], by: 'user' });
  });
});

describe('the command line', () => {
  test('sets, lists, renames, pauses and resumes', async () => {
    const file = join(world.directory, 'lead.md');
    writeFileSync(file, 'From a file.');
    const set = await run('agent', 'set', 'y', '--instructions-file', file, '--model', 'm', '--tools', 'list_agents');
    expect(set).toEqual({ code: 0, stdout: 'Changed y: instructions, model, tools (revision 3).\n', stderr: '' });
    expect(await world.client.getAgent('y')).toMatchObject({
      instructions: 'From a file.',
      model: 'm',
      tools: ['list_agents'],
    });
    expect((await run('agent', 'set', 'y', '--no-model', '--tools', 'all')).stdout).toContain('model, tools');
    expect(await world.client.getAgent('y')).toMatchObject({ model: null, tools: null });
    expect((await run('agent', 'set', 'y', '--role', 'a', '--if-revision', '1')).stderr).toContain('revision 4 now');
    expect(await run('agent', 'set', 'y')).toMatchObject({ code: 2 });
    const history = await run('agent', 'history', 'y');
    expect(history.stdout.split('\n')[1]).toMatch(/^4 .*user .*model null/);
    expect((await run('agent', 'rename', 'y', 'why')).stdout).toBe('Renamed to why. Its handle is still y.\n');
    expect((await run('agent', 'inspect', 'why')).stdout).toMatch(/^y is idle/);
    expect((await run('agent', 'pause', 'why', '--reason', 'lunch')).stdout).toBe('Paused y.\n');
    expect((await run('agent', 'list')).stdout).toMatch(/y .*paused.*lunch/);
    expect((await run('agent', 'resume', 'y')).stdout).toBe('Resumed y.\n');
  });
});
