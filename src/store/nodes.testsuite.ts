import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { NodeRecord } from '../core/node.ts';
import { sessionKeyOf } from '../core/session.ts';
import type { Workspace } from '../core/workspace.ts';
import { addAgent, claim, NODE, queueRun, type StoreKit, startRun } from './store.testkit.ts';
import type { Tx } from './store.ts';

export function testNodes({ read, write }: StoreKit): void {
  const workspace = (id: string, change: Partial<Workspace>): Workspace => ({
    id,
    name: id,
    nameKey: id,
    ownerId: 'user',
    path: `/old/workspaces/${id}`,
    made: true,
    nodeId: 'node',
    viewOf: null,
    mode: 'rw',
    network: null,
    repository: null,
    createdAt: 1,
    deletedAt: null,
    ...change,
  });

  const register = (tx: Tx, change: Partial<typeof NODE>) => tx.nodes.registerNode({ ...NODE, ...change });
  const nodeOf = async (id: string) => (await read((tx) => tx.nodes.getNode({ id }))) as NodeRecord;
  const now = () => read((tx) => tx.nodes.readClock({ now: 1_000 }));

  test('a node registers once and is updated later; nodes that never registered but have agents are listed too', async () => {
    const [id, stranger] = [randomUUID(), randomUUID()];
    await write(async (tx) => {
      await register(tx, { id, labels: ['a'], home: '/a' });
      await register(tx, { id, labels: ['gpu'], providers: ['scripted'], shared: ['/s'], home: '/b' });
      await startRun(tx, await addAgent(tx, { nodeId: id }));
      await queueRun(tx, await addAgent(tx, { nodeId: id }));
      await addAgent(tx, { nodeId: stranger });
      await addAgent(tx, { nodeId: stranger, terminatedAt: 1 });
    });
    expect(await nodeOf(id)).toMatchObject({
      ...{ ...NODE, id, labels: ['gpu'], providers: ['scripted'], shared: ['/s'], home: '/b' },
    });
    expect(await read((tx) => tx.nodes.getNode({ id: stranger }))).toBeNull();
    const nodes = (await read((tx) => tx.nodes.listNodes())).filter((node) => node.id === id || node.id === stranger);
    expect(nodes.map((node) => [node.id, node.record?.home])).toEqual([
      [id, '/b'],
      [stranger, undefined],
    ]);
    const loads = new Map((await read((tx) => tx.nodes.listLoads())).map(({ id: of, ...load }) => [of, load]));
    expect(loads.get(id)).toEqual({ agents: 2, running: 1, queued: 1 });
    expect(loads.get(stranger)).toEqual({ agents: 1, running: 0, queued: 0 });
  });

  test('only the incarnation that registered last is seen, and stops', async () => {
    const id = randomUUID();
    await write((tx) => register(tx, { id, incarnation: 'first' }));
    await write((tx) => register(tx, { id, incarnation: 'second' }));
    const by = (incarnation: string) => ({ id, incarnation, now: 5_000 });
    expect(await write((tx) => tx.nodes.trySeeNode(by('first')))).toBe(false);
    expect(await write((tx) => tx.nodes.tryStopNode(by('first')))).toBe(false);
    expect(await nodeOf(id)).toMatchObject({ clockAt: 1, stoppedAt: null });
    expect(await write((tx) => tx.nodes.trySeeNode(by('second')))).toBe(true);
    expect(await nodeOf(id)).toMatchObject({ clockAt: 5_000, stoppedAt: null });
    expect(await write((tx) => tx.nodes.tryStopNode(by('second')))).toBe(true);
    expect((await nodeOf(id)).stoppedAt).not.toBeNull();
    await write((tx) => register(tx, { id, incarnation: 'third' }));
    expect(await nodeOf(id)).toMatchObject({ stoppedAt: null, lostAt: null });
  });

  test('a node whose heartbeat is missing is lost once, until it is seen again', async () => {
    const [id, other] = [randomUUID(), randomUUID()];
    await write((tx) => register(tx, { id, deadAfterMs: -1 }));
    await write((tx) => register(tx, { id: other, deadAfterMs: 60_000 }));
    const silent = async () => {
      const at = await now();
      return (await read((tx) => tx.nodes.listSilent({ now: at }))).map((node) => node.id);
    };
    expect(await silent()).toContain(id);
    expect(await silent()).not.toContain(other);
    const { seenAt } = await nodeOf(id);
    expect(await write((tx) => tx.nodes.tryLoseNode({ id, seenAt: seenAt - 1, now: 1_000 }))).toBe(false);
    expect(await write((tx) => tx.nodes.tryLoseNode({ id, seenAt, now: 1_000 }))).toBe(true);
    expect(await write((tx) => tx.nodes.tryLoseNode({ id, seenAt, now: 1_000 }))).toBe(false);
    expect(await silent()).not.toContain(id);
    const agent = await write((tx) => addAgent(tx, { nodeId: id }));
    const view = () => read((tx) => tx.agents.getAgentView({ id: agent.id }));
    expect(await view()).toMatchObject({ nodeName: 'node', nodeLostAt: (await nodeOf(id)).lostAt });
    await write((tx) => tx.nodes.trySeeNode({ id, incarnation: 'incarnation', now: 1_000 }));
    expect(await view()).toMatchObject({ nodeLostAt: null });
    await write((tx) => tx.nodes.removeNode({ id }));
    expect(await view()).toMatchObject({ nodeName: null, nodeLostAt: null });
  });

  test('a node that drains, or has another incarnation, claims nothing', async () => {
    const id = randomUUID();
    const run = await write(async (tx) => {
      await register(tx, { id, incarnation: 'second' });
      return queueRun(tx, await addAgent(tx, { nodeId: id }));
    });
    const claimed = (incarnation: string) => write((tx) => claim(tx, id, { incarnation }));
    expect(await claimed('first')).toBeNull();
    await write((tx) => tx.nodes.setDraining({ id, at: 1 }));
    expect(await claimed('second')).toBeNull();
    await write((tx) => tx.nodes.setDraining({ id, at: null }));
    expect(await claimed('second')).toMatchObject({ id: run.id, incarnation: 'second' });
  });

  test('what one node asks of another is taken once, answered once, and forgotten', async () => {
    const [id, nodeId] = [randomUUID(), randomUUID()];
    const open = () => read((tx) => tx.nodes.listOpenNodeRequests({ nodeId }));
    const ask = { id, nodeId, kind: 'look' as const, asked: { agentIds: ['x'] }, createdAt: 1 };
    await write((tx) => tx.nodes.insertNodeRequest(ask));
    expect(await open()).toEqual([{ ...ask, state: 'open', answer: null }]);
    expect(await write((tx) => tx.nodes.tryTakeNodeRequest({ id }))).toBe(true);
    expect(await write((tx) => tx.nodes.tryTakeNodeRequest({ id }))).toBe(false);
    expect(await open()).toEqual([]);
    await write((tx) => tx.nodes.answerNodeRequest({ id, answer: { status: 200 } }));
    expect(await read((tx) => tx.nodes.getNodeRequest({ id }))).toMatchObject({
      state: 'answered',
      answer: { status: 200 },
    });
    await write((tx) => tx.nodes.deleteNodeRequest({ id }));
    expect(await read((tx) => tx.nodes.getNodeRequest({ id }))).toBeNull();
    await write((tx) => tx.nodes.insertNodeRequest(ask));
    await write((tx) => tx.nodes.clearNodeRequests({ nodeId }));
    expect(await open()).toEqual([]);
  });

  test('moveAgent() gives an agent and its waiting run to another node and workspace', async () => {
    const [from, to] = [randomUUID(), randomUUID()];
    const { agent, run } = await write(async (tx) => {
      const moving = await addAgent(tx, { nodeId: from });
      await tx.workspaces.insertWorkspace(workspace(to, { nodeId: to, path: '/there' }));
      return { agent: moving, run: await queueRun(tx, moving) };
    });
    for (const at of [5, 6]) await write((tx) => tx.leftovers.leaveHome({ agentId: agent.id, at }));
    const left = { site: agent.nodeId, agentId: agent.id, hash: null, at: 6 };
    expect(await read((tx) => tx.leftovers.listLeftovers({ site: agent.nodeId, limit: 99 }))).toContainEqual(left);
    await write((tx) => tx.nodes.moveAgent({ id: agent.id, nodeId: to, workspaceId: to, workspace: '/there' }));
    expect(await read((tx) => tx.agents.getAgent({ id: agent.id }))).toMatchObject({
      nodeId: to,
      workspaceId: to,
      workspace: '/there',
    });
    expect(await read((tx) => tx.runs.getRun({ id: run.id }))).toMatchObject({ nodeId: to, state: 'created' });
  });

  test('adoptNode() gives agents, workspaces and waiting runs to another node and removes the first', async () => {
    const [from, to, other] = [randomUUID(), randomUUID(), randomUUID()];
    const { agent, stays, run } = await write(async (tx) => {
      await register(tx, { id: from });
      const first = await addAgent(tx, { nodeId: from });
      await tx.workspaces.insertWorkspace(workspace(randomUUID(), { nodeId: from, ownerId: first.id }));
      return {
        agent: first,
        stays: await addAgent(tx, { nodeId: other }),
        run: await queueRun(tx, first),
      };
    });
    expect(await write((tx) => tx.nodes.adoptNode({ from, to }))).toBe(1);
    expect((await read((tx) => tx.agents.listAgentsOn({ nodeId: to }))).map(({ id }) => id)).toEqual([agent.id]);
    expect((await read((tx) => tx.agents.listAgentsOn({ nodeId: other }))).map(({ id }) => id)).toEqual([stays.id]);
    expect(await read((tx) => tx.agents.listAgentViewsOn({ nodeId: other }))).toMatchObject([
      { id: stays.id, plain: false, nodeShared: null, sessionHandle: null, sessionSnapshot: null },
    ]);
    expect(await read((tx) => tx.workspaces.listMadeWorkspaces({ nodeId: to }))).toHaveLength(1);
    expect(await read((tx) => tx.runs.getRun({ id: run.id }))).toMatchObject({ nodeId: to, state: 'created' });
    expect(await read((tx) => tx.nodes.getNode({ id: from }))).toBeNull();
  });

  test('moveDirectory() moves paths inside a directory, but not paths that only share a prefix', async () => {
    const nodeId = randomUUID();
    const [a, b] = [randomUUID(), randomUUID()];
    await write(async (tx) => {
      await tx.workspaces.insertWorkspace(workspace(a, { nodeId, path: '/old/w' }));
      await tx.workspaces.insertWorkspace(workspace(b, { nodeId, path: '/old/w2' }));
      const agent = await addAgent(tx, { nodeId, workspace: '/old/w/inside', workspaceId: a });
      await tx.sessions.nameSession({ ...sessionKeyOf(agent), handle: 's' });
      await tx.workspaces.insertLink({
        workspaceId: b,
        target: 'x',
        source: '/old/w/docs',
        mode: 'ro',
        madeBy: 'user',
        createdAt: 1,
      });
      await tx.workspaces.moveDirectory({ nodeId, from: '/old/w', to: '/new/place' });
    });
    const paths = await read((tx) => tx.workspaces.listMadeWorkspaces({ nodeId }));
    expect(paths.map(({ path }) => path)).toEqual(['/new/place', '/old/w2']);
    const [agent] = await read((tx) => tx.agents.listAgentsOn({ nodeId }));
    expect(agent?.workspace).toBe('/new/place/inside');
    expect(await read((tx) => tx.sessions.getSession(sessionKeyOf(agent as Agent)))).toMatchObject({ handle: 's' });
    expect((await read((tx) => tx.workspaces.listLinks({ workspaceId: b })))[0]?.source).toBe('/new/place/docs');
  });
}
