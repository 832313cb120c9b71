import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { openLog } from '../../src/daemon/log.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { startFleet } from '../helpers/fleet.ts';
import { describeOnPostgres } from '../helpers/postgres.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

/** The types of the node events up to the first of this type. */
async function nodeEvents({ client }: TestDaemon, last: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of client.followEvents({ after: 0 })) {
    if (type.startsWith('node_')) types.push(type);
    if (type === last) break;
  }
  return types;
}

test('a daemon registers as a node with its labels, version, slots and providers', async () => {
  const config = '[node]\nname = "here"\nlabels = ["gpu", "big"]\n[daemon]\nslots = 3';
  await using daemon = await startDaemon({ config });
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  const node = await daemon.client.getNode('here');
  expect(node).toMatchObject({ self: true, state: 'alive', host: hostname(), home: daemon.home, version: '0.0.0' });
  expect(node).toMatchObject({ labels: ['gpu', 'big'], slots: 3, agents: 1, running: 0, queued: 0, drainingAt: null });
  expect(node.providers).toContain('scripted');
  expect((await daemon.client.listNodes()).items).toEqual([node]);
  expect(await daemon.client.getAgent('me')).toMatchObject({ node: 'here', status: null });
  const listed = await runSubstrat(['node', 'list'], { home: daemon.home });
  expect(listed.stdout).toMatch(/here +alive \(this\) +1 +0\/3 +gpu,big/);
  expect((await runSubstrat(['node', 'inspect', 'here'], { home: daemon.home })).stdout).toContain(
    `Id:        ${node.id}`,
  );
  expect((await runSubstrat(['agent', 'inspect', 'me'], { home: daemon.home })).stdout).toMatch(/^node +here$/m);
  await expect(daemon.client.removeNode('here')).rejects.toMatchObject({ code: 'conflict' });
  await expect(daemon.client.getNode('nowhere')).rejects.toMatchObject({ code: 'not_found' });
  expect(await nodeEvents(daemon, 'node_started')).toEqual(['node_started']);
});

describeOnPostgres('nodes on one store', () => {
  test('see each other, and a node that was stopped can be removed when its agents are gone', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    await b.client.createAgent({ name: 'me', provider: 'external' });
    const nodes = async () => (await a.client.listNodes()).items.map(({ name, state }) => `${name} ${state}`).sort();
    expect(await nodes()).toEqual(['a alive', 'b alive']);
    expect((await a.client.getAgent('me')).node).toBe('b');
    await b.stop();
    expect(await nodes()).toEqual(['a alive', 'b stopped']);
    await expect(a.client.removeNode('b')).rejects.toMatchObject({ code: 'conflict' });
    await a.client.terminateAgent('me');
    await a.client.removeNode('b');
    expect(await nodes()).toEqual(['a alive']);
  });

  test('refuse a second daemon with the id of a node that is alive, or with its name', async () => {
    const { a, url } = await startFleet(['a']);
    const copy = join(a.directory, 'copy');
    mkdirSync(copy, { mode: 0o700 });
    cpSync(join(a.home, 'node'), join(copy, 'node'));
    const config = loadConfig({ file: join(a.directory, 'substrat.toml'), cwd: copy, home: copy, env: {} });
    const start = () => Daemon.start({ home: copy, config, version: '0.0.0', log: openLog(join(copy, 'log')) });
    await expect(start()).rejects.toThrow(
      /Node a \(.*\) is already running on .* in .*\/home; .* is a copy of that home/,
    );
    rmSync(join(copy, 'node'));
    await expect(start()).rejects.toThrow(/Another node has the name "a"/);
    expect((await a.client.listNodes()).items).toHaveLength(1);
    // The first one works on.
    const program = a.program('echo', '() => "well"');
    await a.client.createAgent({ name: 'echo', program });
    const { messageId } = await a.client.sendMessage('echo', { text: 'how are you?' });
    expect(await a.client.awaitReply(messageId, 20)).toMatchObject({ text: 'well' });
    expect(url).toContain('postgres');
  });

  test('without names of their own get different ones', async () => {
    const { a, url } = await startFleet(['a']);
    const others = [await startDaemon({ database: url }), await startDaemon({ database: url })];
    onTestFinished(async () => {
      for (const other of others) await other.stop();
    });
    const names = (await a.client.listNodes()).items.map(({ name }) => name).sort();
    expect(names).toEqual(['a', hostname(), `${hostname()}-2`].sort());
  });

  test('notice that a node is dead, tell the owner once, and notice that it is back', { timeout: 60_000 }, async () => {
    const config = '[daemon]\nlease = "500ms"\n[node]\ndead_after = "1s"\n';
    const { a, url } = await startFleet(['a'], () => ({ config }));
    const home = join(a.directory, 'b');
    mkdirSync(home, { mode: 0o700 });
    const rest = `[db]\nurl = "${url}"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n`;
    writeFileSync(join(home, 'config.toml'), `${config}name = "b"\n${rest}`);
    const b = await startDaemonProcess({ home, cwd: home });
    onTestFinished(async () => void (await b.kill()));
    const { id } = await b.client.createAgent({ name: 'me', provider: 'external' });
    const notices = async () => (await a.client.listMessages('me')).items.map(({ text }) => text);
    const kindIs = (kind: string | undefined) =>
      until(`its status is ${kind}`, async () => {
        const { status } = await a.client.getAgent(id);
        return status?.kind === kind ? { status } : null;
      });
    process.kill(b.pid, 'SIGSTOP');
    const { status } = await kindIs('stranded');
    expect(status?.reason).toContain('Its node b sends no heartbeat');
    expect((await a.client.getNode('b')).state).toBe('dead');
    process.kill(b.pid, 'SIGCONT');
    await kindIs(undefined);
    expect((await a.client.getNode('b')).state).toBe('alive');
    expect(await notices()).toEqual([expect.stringMatching(/^The node b .* sends no heartbeat.*: me\. /)]);
    expect(await nodeEvents(a, 'node_returned')).toEqual([
      'node_started',
      'node_started',
      'node_lost',
      'node_returned',
    ]);
  });
});
