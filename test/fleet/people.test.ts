import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TestDaemon } from '../helpers/daemon.ts';
import { startFleet } from '../helpers/fleet.ts';
import { ask } from '../helpers/http.ts';
import { describeOnPostgres } from '../helpers/postgres.ts';
import { until } from '../helpers/until.ts';

const ECHO = '({ messages }) => messages[0].text + " from " + process.cwd()';
const FOREVER = '() => new Promise((resolve) => setTimeout(resolve, 600_000))';

async function answerOf({ client }: TestDaemon, name: string): Promise<{ text: string; ms: number }> {
  const since = performance.now();
  const { messageId } = await client.sendMessage(name, { text: 'hello' });
  const reply = await client.awaitReply(messageId, 30);
  return { text: reply?.text ?? '', ms: performance.now() - since };
}

describeOnPostgres('people on any node', () => {
  test('get the same answers on both, and about as fast', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const { workspace } = await b.client.createAgent({ name: 'echo', program: b.program('echo', ECHO) });
    expect(workspace.startsWith(b.home)).toBe(true);
    for (const node of [a, b]) await answerOf(node, 'echo');
    const [there, here] = [await answerOf(a, 'echo'), await answerOf(b, 'echo')];
    expect(there.text).toBe(`hello from ${workspace}`);
    expect(there.ms).toBeLessThan(2 * here.ms + 200);
    for (const path of [
      '/api/agents',
      '/api/agents/echo',
      '/api/runs',
      '/api/inbox',
      '/api/workspaces',
      '/api/channels',
    ]) {
      expect((await ask(a, path)).json, path).toEqual((await ask(b, path)).json);
    }
    const events = async ({ client }: TestDaemon) => {
      const seen: unknown[] = [];
      for await (const event of client.followEvents({ after: 0 })) {
        seen.push(event);
        if (event.type === 'run_ended' && seen.length > 30) return seen;
      }
      return seen;
    };
    expect(await events(a)).toEqual(await events(b));
  });

  test('cancel a run of the other node, whose process ends at once', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const { id } = await b.client.createAgent({ name: 'slow', program: b.program('slow', FOREVER) });
    await a.client.sendMessage('slow', { text: 'go' });
    const run = await until('it runs', async () => (await a.client.listRuns({ agent: id, state: 'running' })).items[0]);
    await until('its process is there', () => b.daemon.liveRuns().length === 1);
    await a.client.cancelRun(run.id);
    const since = performance.now();
    await until('its process is gone', () => b.daemon.liveRuns().length === 0);
    expect(performance.now() - since).toBeLessThan(3_000);
    await a.client.terminateAgent('slow');
  });

  test('terminate an external agent of the other node, whose socket closes', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const { id } = await b.client.createAgent({ name: 'me', provider: 'external' });
    const config = await a.client.getMcpConfig('me');
    expect(config).toEqual(await b.client.getMcpConfig('me'));
    expect(config.path).toBe(join(b.home, 'agents', id, 'mcp.json'));
    await a.client.terminateAgent('me');
    const socket = join(b.home, 'agents', id, 'agent.sock');
    await until('its socket is gone', () => !existsSync(socket));
  });

  test('link into and delete a workspace of the other node', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    await b.client.createWorkspace({ name: 'docs' });
    const source = join(b.directory, 'source');
    mkdirSync(source);
    await b.client.createWorkspace({ name: 'more', path: source });
    const key = { idempotencyKey: randomUUID() };
    const link = () => a.client.linkDirectory('docs', { source, target: 'x' }, key);
    const first = await link();
    expect(await link()).toEqual(first);
    expect((await a.client.getWorkspace('docs')).links).toEqual([first]);
    await a.client.deleteWorkspace('docs');
    await expect(a.client.getWorkspace('docs')).rejects.toMatchObject({ code: 'not_found' });
    await expect(a.client.deleteWorkspace('docs')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('get 503 if the other node does not answer, and nothing happens later', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const create = () => a.client.createAgent({ name: 'x', provider: 'external', node: 'b' });
    // A node that is alive and whose daemon hangs.
    await a.daemon.store.write((tx) => tx.nodes.registerNode({ ...GHOST, clockAt: Date.now() }));
    const asked = performance.now();
    await expect(a.client.createAgent({ name: 'y', provider: 'external', node: 'ghost' })).rejects.toMatchObject({
      code: 'node_silent',
      message: 'The node ghost did not answer within 2 seconds.',
    });
    expect(performance.now() - asked).toBeLessThan(4_000);
    expect(await a.daemon.store.read((tx) => tx.nodes.listOpenNodeRequests({ nodeId: 'ghost' }))).toEqual([]);
    expect((await create()).node).toBe('b');
    expect(
      (await ask(a, '/api/agents', { method: 'POST', body: { name: 'x', node: 'b', provider: 'external' } })).status,
    ).toBe(409);
    await b.stop();
    const late = await ask(a, '/api/agents/x/mcp');
    expect([late.status, late.json.error.code]).toEqual([503, 'node_silent']);
  });
});

const GHOST = {
  id: 'ghost',
  name: 'ghost',
  host: 'nowhere',
  home: '/nowhere',
  incarnation: 'ghost',
  version: '0.2.0',
  labels: [],
  providers: [],
  shared: [],
  wipRemote: null,
  slots: 1,
  deadAfterMs: 3_600_000,
  startedAt: 1,
};
