import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { TestDaemon } from '../helpers/daemon.ts';
import { startFleet } from '../helpers/fleet.ts';
import { connectAgent, connectRaw } from '../helpers/mcp.ts';
import { describeOnPostgres } from '../helpers/postgres.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const WHERE = '() => process.cwd()';
/** Ends when a file `go` is in its workspace. */
const PATIENT = `async () => {
  const { existsSync } = await import('node:fs');
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20));
  return 'finished';
}`;

async function answerOf({ client }: TestDaemon, name: string): Promise<string | undefined> {
  const { messageId } = await client.sendMessage(name, { text: 'hello' });
  return (await client.awaitReply(messageId, 20))?.text;
}

describeOnPostgres('a new agent', () => {
  test('goes to the named node, to one with its labels, or to the least loaded one with its provider', async () => {
    const config = (name: string) =>
      `[providers.scripted]\ncommand = "/bin/true"\n${name === 'a' ? '[daemon]\nslots = 1' : '[daemon]\nslots = 8\n[node]\nlabels = ["gpu"]'}`;
    const { a, b } = await startFleet(['a', 'b'], (name) => ({ config: config(name) }));
    const program = a.program('where', WHERE);
    const create = async (name: string, wish: object) => (await a.client.createAgent({ name, ...wish })).node;
    expect(await create('named', { program, node: 'b' })).toBe('b');
    expect(await answerOf(a, 'named')).toContain(b.home);
    expect(await create('labelled', { program, labels: ['gpu'] })).toBe('b');
    expect(await create('local', { program })).toBe('a');
    expect(await create('external', { provider: 'external' })).toBe('a');
    // a has 2 agents for 1 slot, b 2 for 8.
    expect(await create('free', { provider: 'scripted' })).toBe('b');
    await expect(create('none', { program, labels: ['gpu', 'fast'] })).rejects.toMatchObject({ code: 'conflict' });
    await expect(create('nowhere', { program, node: 'c' })).rejects.toMatchObject({ code: 'not_found' });
    const cli = ['agent', 'create', 'cli', '--program', program, '--label', 'gpu', '--json'];
    expect(JSON.parse((await runSubstrat(cli, { home: a.home })).stdout)).toMatchObject({ node: 'b' });
  });

  test('stays where its parent works, unless it has a workspace of its own', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const program = b.program('where', WHERE);
    await b.client.createAgent({ name: 'lead', program });
    const child = await a.client.createAgent({ name: 'child', program, parent: 'lead' });
    expect(child).toMatchObject({ node: 'b', workspace: (await a.client.getAgent('lead')).workspace });
    expect(await answerOf(a, 'lead/child')).toBe(child.workspace);
    const away = { name: 'away', program, parent: 'lead', node: 'a' };
    await expect(a.client.createAgent(away)).rejects.toMatchObject({ code: 'conflict' });
    const own = await b.client.createAgent({ ...away, workspace: join(a.directory, 'own') });
    expect(own).toMatchObject({ node: 'a', workspace: join(a.directory, 'own') });
    expect(await answerOf(b, 'lead/away')).toBe(own.workspace);
  });

  test('of the configuration is created by the node that it names, and by no other', async () => {
    const members = (['a', 'b', 'gpu'] as const)
      .map(
        (name) =>
          `[members.of-${name}]\nprovider = "external"\n${name === 'gpu' ? 'labels = ["gpu"]' : `node = "${name}"`}`,
      )
      .join('\n');
    const { a } = await startFleet(['a', 'b'], (name) => ({
      config: `[node]\nlabels = ${name === 'b' ? '["gpu"]' : '[]'}\n${members}\n`,
    }));
    const nodes = (await a.client.listAgents()).items.map(({ name, node }) => `${name} ${node}`).sort();
    expect(nodes).toEqual(['of-a a', 'of-b b', 'of-gpu b']);
    expect(a.log()).toContain('It belongs on the node b');
  });
});

describeOnPostgres('a node that drains', () => {
  test('finishes its runs, starts none, and lets them start when it is undrained', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const { workspace } = await b.client.createAgent({ name: 'patient', program: b.program('patient', PATIENT) });
    await b.client.createAgent({
      name: 'where',
      program: b.program('where', WHERE),
      workspace: join(b.directory, 'w'),
    });
    const { messageId } = await a.client.sendMessage('patient', { text: 'go' });
    await until('it runs', () => b.daemon.liveRuns().length === 1);
    expect(await a.client.drainNode('b')).toMatchObject({ state: 'draining', running: 1, agents: 2 });
    const late = await a.client.sendMessage('where', { text: 'hello' });
    await expect(b.client.createAgent({ name: 'x', provider: 'external' })).rejects.toMatchObject({ code: 'conflict' });
    writeFileSync(join(workspace, 'go'), '');
    expect(await a.client.awaitReply(messageId, 20)).toMatchObject({ text: 'finished' });
    expect(await a.client.awaitReply(late.messageId, 1)).toBeNull();
    expect((await a.client.listNodes()).items.find(({ name }) => name === 'b')).toMatchObject({
      running: 0,
      queued: 1,
    });
    await a.client.undrainNode('b');
    expect(await a.client.awaitReply(late.messageId, 20)).toMatchObject({ text: join(b.directory, 'w') });
  });

  test('closes external runs and moves agents that have nothing on it', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const program = b.program('where', WHERE);
    const me = await b.client.createAgent({ name: 'me', provider: 'external' });
    await b.client.createAgent({ name: 'fresh', program });
    const used = await b.client.createAgent({ name: 'used', program });
    writeFileSync(join(used.workspace, 'notes'), 'x');
    await using client = await connectAgent({ home: b.home, agentId: me.id });
    await client.call('check_inbox');
    expect(await a.client.listRuns({ agent: 'me', state: 'running' })).toMatchObject({ items: [{}] });
    await a.client.drainNode('b');
    await until('they have moved', async () => (await a.client.getNode('b')).agents === 1);
    const nodes = (await a.client.listAgents()).items.map(({ name, node }) => `${name} ${node}`).sort();
    expect(nodes).toEqual(['fresh a', 'me a', 'used b']);
    expect((await a.client.listRuns({ agent: 'me', state: 'running' })).items).toEqual([]);
    expect(await answerOf(b, 'fresh')).toContain(a.home);
    expect((await b.client.getMcpConfig('me')).path).toContain(a.home);
    const old = await connectRaw({ home: b.home, agentId: me.id });
    expect(await old.json()).toEqual({ substrat: { error: expect.stringMatching(/^me was moved to the node a on /) } });
    old.close();
    await using again = await connectAgent({ home: a.home, agentId: me.id });
    await again.call('check_inbox');
  });
});

describeOnPostgres('moving an agent', () => {
  test('leaves its files behind only if that is wanted, and its children in the workspace follow', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const program = b.program('where', WHERE);
    const lead = await b.client.createAgent({ name: 'lead', program });
    await b.client.createAgent({ name: 'child', program, parent: 'lead', workspace: join(lead.workspace, 'part') });
    writeFileSync(join(lead.workspace, 'notes'), 'x');
    const move = { node: 'a' };
    await expect(a.client.moveAgent('lead', move)).rejects.toMatchObject({
      code: 'conflict',
      message: /--without-workspace/,
    });
    const moved = await a.client.moveAgent('lead', { ...move, withoutWorkspace: true });
    expect(moved.node).toBe('a');
    expect(await answerOf(b, 'lead')).toBe(moved.workspace);
    expect(await answerOf(b, 'lead/child')).toBe(join(moved.workspace, 'part'));
    await expect(b.client.moveAgent('lead', { ...move, withoutWorkspace: true })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('from a node that died in the middle of its turn, the turn is tried again', { timeout: 60_000 }, async () => {
    const config = '[daemon]\nlease = "500ms"\n[node]\ndead_after = "1s"\n';
    const { a, url } = await startFleet(['a'], () => ({ config }));
    const home = join(a.directory, 'b');
    const stop = join(a.directory, 'stop');
    mkdirSync(home, { mode: 0o700 });
    const rest = `[db]\nurl = "${url}"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n`;
    writeFileSync(join(home, 'config.toml'), `${config}name = "b"\n${rest}`);
    const b = await startDaemonProcess({ home, cwd: home });
    onTestFinished(async () => {
      // Without a sandbox, the program outlives its daemon.
      writeFileSync(stop, '');
      await b.kill();
    });
    const program = a.program(
      'patient',
      `async () => {
        const { existsSync } = await import('node:fs');
        if (!process.cwd().startsWith('${home}')) return 'finished elsewhere';
        while (!existsSync('${stop}')) await new Promise((resolve) => setTimeout(resolve, 20));
        return 'finished at home';
      }`,
    );
    await b.client.createAgent({ name: 'patient', program });
    const { messageId } = await a.client.sendMessage('patient', { text: 'go' });
    await until('it runs', async () => (await a.client.getNode('b')).running === 1);
    const move = { node: 'a', withoutWorkspace: true };
    await expect(a.client.moveAgent('patient', move)).rejects.toMatchObject({ message: /is in a turn/ });
    await b.kill();
    await until('b is dead', async () => (await a.client.getNode('b')).state === 'dead');
    expect(await a.client.moveAgent('patient', move)).toMatchObject({ node: 'a' });
    expect(await a.client.awaitReply(messageId, 20)).toMatchObject({ text: 'finished elsewhere' });
    expect((await a.client.listReplies(messageId)).items).toHaveLength(1);
  });
});
