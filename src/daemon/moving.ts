import { join, relative } from 'node:path';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { namesIn } from '../core/names-in.ts';
import type { NodeRecord } from '../core/node.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import { sessionKeyOf } from '../core/session.ts';
import type { Wip } from '../core/wip.ts';
import type { MoveWish, ShownNode } from '../http/api.ts';
import { resolveReference } from '../messaging/reference.ts';
import { createAttempt } from '../runs/attempt.ts';
import { completeRun, failAttempt } from '../runs/endings.ts';
import type { AgentView, Tx } from '../store/store.ts';
import { ownWorkplace, unclaimed } from '../workspaces/workplace.ts';
import { messagesOfRuns as correspondence } from './correspondence.ts';
import type { Node } from './node.ts';
import { findNode } from './nodes.ts';
import { checkStarts } from './placement.ts';

export interface Moving extends Pick<Node, 'store' | 'home' | 'clock' | 'config'> {
  /** Lets a node, this or another one, look at the agents again. */
  readonly tell: (nodeId: string, agentIds: readonly string[]) => Promise<void>;
}

/**
 * Moves an agent, and its descendants in the same workspace, to another node. It gets a new workspace there, and so a
 * new session with the journal. If it has files or a session here, this must be wanted (`withoutWorkspace`).
 */
export async function moveAgent(moving: Moving, reference: string, wish: MoveWish): Promise<AgentView> {
  const { store, clock, config, tell } = moving;
  const agent = await store.read((tx) => resolveReference(tx, reference));
  const [from, to] = [await findNode(moving, agent.nodeId), await findNode(moving, wish.node)];
  checkTarget(agent, from, to);
  const wip = wish.withoutWorkspace ? null : await pushedWork(moving, agent, from, to);
  if (!wish.withoutWorkspace && wip === null) await refuseIfUsed(moving, agent, from);
  const moved = await store.write(async (tx) => {
    const group = await groupOf(tx, agent.id);
    for (const member of group) await endRun(tx, member, from, config.daemon.maxAttempts, clock());
    if (wip) await bring(tx, group, { from, to: to.record as NodeRecord, now: clock() });
    else await settle(tx, group, { from, to: to.record as NodeRecord, keep: wish.withoutWorkspace, now: clock() });
    return group.map(({ id }) => id);
  });
  for (const nodeId of [from.id, to.id]) await tell(nodeId, moved);
  return (await store.read((tx) => tx.agents.getAgentView({ id: agent.id }))) as AgentView;
}

/** Whether nothing of the agents in its workspace is on this node: no file, no session. */
export async function hasNothingHere({ store, home }: Pick<Moving, 'store' | 'home'>, agent: Agent): Promise<boolean> {
  const { workspaceId } = agent;
  if (agent.nodeId !== home.nodeId || workspaceId === null) return false;
  return store.read(async (tx) => {
    const workspace = await tx.workspaces.getWorkspace({ id: workspaceId });
    if (!workspace?.made || workspace.repository !== null || workspace.viewOf !== null) return false;
    if ((await tx.workspaces.listLinks({ workspaceId })).length > 0 || !isEmpty(workspace.path)) return false;
    const group = await groupOf(tx, agent.id);
    const ids = new Set(group.map(({ id }) => id));
    const others = await tx.workspaces.listInhabitants({ workspaceId });
    if (others.some(({ id, terminatedAt }) => terminatedAt === null && !ids.has(id))) return false;
    for (const member of group) {
      if ((await tx.sessions.getSession(sessionKeyOf(member)))?.handle != null) return false;
    }
    return true;
  });
}

function checkTarget(agent: Agent, from: ShownNode, to: ShownNode): void {
  if (from.id === to.id) throw new SubstratError('conflict', `${agent.handle} is on that node already.`);
  if (agent.terminatedAt !== null) throw new SubstratError('terminated', `${agent.handle} is terminated.`);
  checkStarts(to);
  if (agent.provider === EXTERNAL || to.record?.providers.includes(agent.provider)) return;
  const message = `The node ${to.record?.name} does not have the provider "${agent.provider}".`;
  throw new SubstratError('conflict', message);
}

async function refuseIfUsed(moving: Moving, agent: Agent, from: ShownNode): Promise<void> {
  if (await hasNothingHere(moving, agent)) return;
  const message = `${agent.handle} has files or a session on the node ${from.record?.name ?? from.id} (${agent.workspace}). To leave them there and begin with an empty workspace, add --without-workspace.`;
  throw new SubstratError('conflict', message);
}

/** The agent and its descendants in the same workspace. */
async function groupOf(tx: Tx, agentId: string): Promise<Agent[]> {
  const agents = await tx.agents.listSubtree({ id: agentId });
  const root = agents.find(({ id }) => id === agentId);
  if (!root) throw new SubstratError('terminated', 'The agent is terminated.');
  const same = ({ workspaceId, nodeId }: Agent) => workspaceId === root.workspaceId && nodeId === root.nodeId;
  return [root, ...agents.filter((agent) => agent !== root && same(agent))];
}

/** A turn that runs ends first. That of a node which no longer runs is given back, and its fence raised. */
async function endRun(tx: Tx, agent: Agent, from: ShownNode, maxAttempts: number, now: number): Promise<void> {
  const run = await tx.runs.getLiveRun({ agentId: agent.id });
  if (run?.state !== 'running') return;
  if (agent.provider === EXTERNAL) {
    return completeRun(tx, correspondence, createAttempt(run, agent), { finalText: '' }, now);
  }
  if (from.state === 'alive' || from.state === 'draining') {
    const message = `${agent.handle} is in a turn. Move it when the turn has ended, or cancel the run ${run.id}.`;
    throw new SubstratError('conflict', message);
  }
  const failure = { kind: 'lease_lost', message: 'The node that ran it is gone.' } as const;
  await failAttempt(tx, correspondence, run, failure, { maxAttempts }, now);
}

/**
 * The pushed state of a git workspace whose node no longer runs: the person agrees that it continues from there, even
 * if the last turn is not part of it.
 */
async function pushedWork({ store }: Moving, agent: Agent, from: ShownNode, to: ShownNode): Promise<Wip | null> {
  const { workspaceId } = agent;
  const isGone = from.state === 'dead' || from.state === 'stopped';
  if (workspaceId === null || !isGone) return null;
  const wip = await store.read((tx) => tx.wips.getWip({ workspaceId }));
  if (wip === null || wip.hash === null) return null;
  if (to.record?.wipRemote === wip.remote) return wip;
  throw new SubstratError('conflict', `The node ${to.record?.name} does not push to the same \`wip_remote\`.`);
}

/** Its files are restored there before the next turn. Sessions stay behind. */
async function bring(tx: Tx, group: readonly Agent[], { from, to, now }: Omit<Route, 'keep'>): Promise<void> {
  const workspaceId = group[0]?.workspaceId as string;
  await tx.wips.moveWip({ workspaceId });
  await tx.workspaces.moveWorkspace({ id: workspaceId, nodeId: to.id });
  for (const { id, workspace, ...agent } of group) {
    const key = sessionKeyOf({ id, workspace, ...agent });
    await tx.sessions.leaveSession({ ...key, from: from.record?.name ?? from.id });
    await tx.leftovers.leaveHome({ agentId: id, at: now });
    await tx.nodes.moveAgent({ id, nodeId: to.id, workspaceId, workspace });
    const data = { agentId: id, from: from.id, to: to.id };
    await tx.events.appendEvent({ type: 'agent_moved', at: now, agentId: id, data });
    await tx.runs.wakeAgent({ agentId: id, now });
  }
}

interface Route {
  readonly from: ShownNode;
  readonly to: NodeRecord;
  /** The workspace there still has something in it. */
  readonly keep: boolean;
  readonly now: number;
}

async function settle(tx: Tx, group: readonly Agent[], { from, to, keep, now }: Route): Promise<void> {
  const [first] = group as [Agent, ...Agent[]];
  const old = first.workspaceId === null ? null : await tx.workspaces.getWorkspace({ id: first.workspaceId });
  const rules = { nodeId: to.id, directory: (id: string) => join(to.home, 'workspaces', id) };
  const workplace = unclaimed(rules, newId(), now, { network: old?.network ?? null });
  if (old && !keep) await tx.workspaces.deleteWorkspace({ id: old.id, at: now });
  await tx.workspaces.insertWorkspace(workplace);
  await ownWorkplace(tx, first, workplace.id);
  for (const { id, workspace } of group) {
    const inside = old === null ? '' : relative(old.path, workspace);
    const path = inside.startsWith('..') ? workplace.path : join(workplace.path, inside);
    await tx.leftovers.leaveHome({ agentId: id, at: now });
    await tx.nodes.moveAgent({ id, nodeId: to.id, workspaceId: workplace.id, workspace: path });
    await tx.events.appendEvent({
      type: 'agent_moved',
      at: now,
      agentId: id,
      data: { agentId: id, from: from.id, to: to.id },
    });
    await tx.runs.wakeAgent({ agentId: id, now });
  }
}

function isEmpty(directory: string): boolean {
  try {
    return namesIn(directory, 0).length === 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
