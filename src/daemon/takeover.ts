import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../core/agent.ts';
import type { NodeRecord } from '../core/node.ts';
import { isPushed, isShared, portabilityOf } from '../core/portable.ts';
import { removeTree } from '../core/remove-tree.ts';
import { seated } from '../core/seat.ts';
import { type Session, type SessionKey, sessionKeyOf } from '../core/session.ts';
import type { Wip } from '../core/wip.ts';
import type { ShownNode } from '../http/api.ts';
import { writeSession } from '../providers/session-files.ts';
import { giveBack } from '../runs/lost-leases.ts';
import type { AgentView, Tx } from '../store/store.ts';
import { messagesOfRuns as correspondence } from './correspondence.ts';
import type { Moving } from './moving.ts';
import type { Node } from './node.ts';
import { listNodes } from './nodes.ts';
import { byLoad } from './placement.ts';
import { loadSession } from './snapshots.ts';
import type { Work } from './work.ts';

/** The least loaded node takes an agent over. If it has not after this time, any other that can does. */
const TURN_OF_OTHERS_MS = 3_000;

export interface Taking extends Moving, Pick<Node, 'log'> {
  /** Whether a process of the agent may still run here. */
  readonly isLive: (agentId: string) => boolean;
  readonly work: Pick<Work, 'restore' | 'directoryAfter'>;
}

/** Agents that work in the same workspace move together. */
interface Group {
  readonly workspaceId: string;
  readonly agents: readonly AgentView[];
}

/** The agents of a node that another one could take over, by workspace. */
export async function portableGroups(tx: Tx, nodeId: string): Promise<Group[]> {
  const agents = await tx.agents.listAgentViewsOn({ nodeId });
  // Files that were not pushed are not left behind without asking: a person moves such an agent.
  const isPortable = (agent: AgentView) =>
    ['portable', 'not_yet'].includes(portabilityOf(agent) ?? 'local') && (agent.wipRemote === null || isPushed(agent));
  return [...Map.groupBy(agents, ({ workspaceId }) => workspaceId)].flatMap(([workspaceId, group]) =>
    workspaceId !== null && group.every(isPortable) ? [{ workspaceId, agents: group }] : [],
  );
}

/** Whether the node could take the group, by what it says of itself. */
export function canTake({ providers, shared, wipRemote }: NodeRecord, { agents }: Pick<Group, 'agents'>): boolean {
  const has = (agent: AgentView) => [agent, seated(agent)].every(({ provider }) => providers.includes(provider));
  const reaches = (agent: AgentView) =>
    agent.wipRemote === null ? isShared(shared, agent.workspace) : agent.wipRemote === wipRemote;
  return agents.every((agent) => has(agent) && reaches(agent));
}

/** Takes over agents of nodes that are lost or drain, if this node is the one to do it. */
export async function takeoverStep(taking: Taking): Promise<void> {
  const { store, clock, config, log } = taking;
  if (store.engine === 'sqlite' || !config.node.portable) return;
  if (config.node.shared.length === 0 && config.node.wipRemote === null) return;
  const nodes = await listNodes(taking);
  if (nodes.find(({ self }) => self)?.state !== 'alive') return;
  const left = nodes.filter(({ self, record, agents }) => !self && agents > 0 && record && leftAt(record) !== null);
  for (const from of left.filter(({ record }) => record && (record.shared.length > 0 || record.wipRemote !== null))) {
    const { groups, now } = await store.read(async (tx) => ({
      groups: await groupsToTake(tx, from.record as NodeRecord),
      now: await tx.nodes.readClock({ now: clock() }),
    }));
    for (const group of groups) {
      const able = nodes.filter(({ state, record }) => state === 'alive' && record && canTake(record, group));
      const waited = now - ((from.record && leftAt(from.record)) ?? now);
      const isOurs = able.sort(byLoad)[0]?.self || (waited > TURN_OF_OTHERS_MS && able.some(({ self }) => self));
      if (!isOurs) continue;
      await takeGroup(taking, from, group).catch((error: Error) => {
        const handles = group.agents.map(({ handle }) => handle).join(', ');
        log.warn({ agents: handles, error: error.message }, 'agents of another node could not be taken over');
      });
    }
  }
}

/** Since when others take its agents; null: they do not. */
function leftAt({ lostAt, drainingAt }: NodeRecord): number | null {
  return lostAt ?? drainingAt;
}

/** Of a node that drains, only agents that lose nothing: at rest, with a stored session, after a turn that ended well. */
async function groupsToTake(tx: Tx, node: NodeRecord): Promise<Group[]> {
  const groups = await portableGroups(tx, node.id);
  if (node.lostAt !== null) return groups;
  const complete: Group[] = [];
  for (const group of groups) {
    const kept = await Promise.all(group.agents.map((agent) => isComplete(tx, agent)));
    if (kept.every(Boolean)) complete.push(group);
  }
  return complete;
}

async function isComplete(tx: Tx, agent: AgentView): Promise<boolean> {
  if (portabilityOf(agent) !== 'portable') return false;
  const newest = await tx.runs.listRuns({ agentId: agent.id, state: null, before: null, limit: 2 });
  const last = newest.find(({ state, attempt }) => state !== 'created' || attempt > 0);
  return last === undefined || last.state === 'completed';
}

async function takeGroup(taking: Taking, from: ShownNode, group: Group): Promise<void> {
  const { store, home, tell, log, isLive, work } = taking;
  for (const { id, handle, workspace, program, wipRemote } of group.agents) {
    if (isLive(id)) throw new Error(`A turn of ${handle} still runs here.`);
    for (const path of [wipRemote === null ? workspace : null, program]) {
      if (path !== null && !existsSync(path)) throw new Error(`${path} does not exist here.`);
    }
  }
  const wip = await store.read((tx) => tx.wips.getWip({ workspaceId: group.workspaceId }));
  if (wip) await work.restore(wip, work.directoryAfter(wip.workspaceId, wip.moves + 1));
  const brought = new Map<string, readonly Session[]>();
  for (const agent of group.agents) brought.set(agent.id, await restoreHome(taking, agent));
  const ids = await store.write((tx) => moveGroup(tx, taking, from, { ...group, wip }, brought));
  if (ids === null) return;
  const agents = group.agents.map(({ handle }) => handle).join(', ');
  log.warn({ agents, from: from.record?.name }, 'agents of another node were taken over');
  for (const nodeId of [from.id, home.nodeId]) await tell(nodeId, ids);
}

/**
 * Builds the agent's home from the snapshots of its sessions, in a new directory that then replaces what an earlier
 * time of the agent here has left. Returns the sessions that it contains.
 */
async function restoreHome({ store, home, log }: Taking, { id, handle }: Agent): Promise<Session[]> {
  const restored: Session[] = [];
  const fresh = join(home.agentDirectory(id), 'home.new');
  await removeTree(fresh);
  writeSession(fresh, []);
  for (const session of await store.read((tx) => tx.sessions.listSessions({ agentId: id }))) {
    if (session.snapshot === null) continue;
    try {
      writeSession(fresh, await loadSession(store, session.snapshot));
      restored.push(session);
    } catch (error) {
      log.warn({ agent: handle, error: (error as Error).message }, 'a session cannot be resumed');
    }
  }
  await removeTree(home.agentHome(id));
  renameSync(fresh, home.agentHome(id));
  return restored;
}

/** Returns null if something has changed: the node is back, it does not drain any more, or others were faster. */
async function moveGroup(
  tx: Tx,
  { home, clock, config }: Taking,
  from: ShownNode,
  group: Group & { readonly wip: Wip | null },
  brought: ReadonlyMap<string, readonly Session[]>,
): Promise<string[] | null> {
  const now = clock();
  const node = await tx.nodes.getNode({ id: from.id });
  if (!node || leftAt(node) === null || node.incarnation !== from.record?.incarnation) return null;
  const present = (await groupsToTake(tx, node)).find(({ workspaceId }) => workspaceId === group.workspaceId);
  const ids = group.agents.map(({ id }) => id);
  if (present?.agents.map(({ id }) => id).join() !== ids.join()) return null;
  const wip = await tx.wips.getWip({ workspaceId: group.workspaceId });
  if (wip?.hash !== group.wip?.hash || wip?.moves !== group.wip?.moves) return null;
  if (wip) await tx.wips.moveWip({ workspaceId: wip.workspaceId });
  for (const agent of group.agents) {
    const sessions = await tx.sessions.listSessions({ agentId: agent.id });
    const kept = brought.get(agent.id) ?? [];
    const same = (a: Session) => (b: Session) => isSame(a, b) && a.snapshot === b.snapshot;
    if (!kept.every((session) => sessions.some(same(session)))) return null;
    const run = await tx.runs.getLiveRun({ agentId: agent.id });
    if (run?.state === 'running') {
      const { maxAttempts, maxDeaths } = config.daemon;
      await giveBack(tx, { nodeId: home.nodeId, correspondence, maxAttempts, maxDeaths }, [run], now);
    }
    // A session that is older than the last run that it saw is never resumed.
    for (const session of sessions) {
      const moved = { ...keyOf(session), from: node.name };
      await (kept.some(same(session)) ? tx.sessions.takeSession(moved) : tx.sessions.leaveSession(moved));
    }
    const key = sessionKeyOf(seated(agent));
    if (!sessions.some((session) => isSame(session, key))) await tx.sessions.leaveSession({ ...key, from: node.name });
    const { id, workspace } = agent;
    await tx.leftovers.leaveHome({ agentId: id, at: now });
    await tx.nodes.moveAgent({ id, nodeId: home.nodeId, workspaceId: group.workspaceId, workspace });
    const data = { agentId: id, from: from.id, to: home.nodeId };
    await tx.events.appendEvent({ type: 'agent_moved', at: now, agentId: id, data });
    await tx.runs.wakeAgent({ agentId: id, now });
  }
  await tx.workspaces.moveWorkspace({ id: group.workspaceId, nodeId: home.nodeId });
  return ids;
}

function keyOf({ agentId, provider, account, insidePath }: SessionKey): SessionKey {
  return { agentId, provider, account, insidePath };
}

function isSame(a: SessionKey, b: SessionKey): boolean {
  return a.provider === b.provider && a.account === b.account && a.insidePath === b.insidePath;
}
