import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { ShownNode } from '../http/api.ts';
import type { AgentDoors } from './doors.ts';
import { hasNothingHere, type Moving, moveAgent } from './moving.ts';
import type { Node } from './node.ts';
import { findNode, listNodes } from './nodes.ts';
import { byLoad } from './placement.ts';

/** From now on the node starts nothing new, or does so again. Notifies the node. */
export async function setDraining(moving: Moving, reference: string, draining: boolean): Promise<ShownNode> {
  const { store, clock, tell } = moving;
  const { id, record } = await findNode(moving, reference);
  if (record === null) throw new SubstratError('conflict', `The node ${id} never registered.`);
  if ((record.drainingAt !== null) !== draining) {
    await store.write(async (tx) => {
      await tx.nodes.setDraining({ id, at: draining ? await tx.nodes.readClock({ now: clock() }) : null });
      const type = draining ? 'node_draining' : 'node_undrained';
      await tx.events.appendEvent({ type, at: clock(), data: { nodeId: id, node: record.name } });
    });
    await tell(id, []);
  }
  return findNode(moving, id);
}

interface Draining extends Moving, Pick<Node, 'log'> {
  readonly doors: AgentDoors;
}

/**
 * A step of this node's drain: closes the open-ended runs of external agents, and moves agents that have nothing here
 * to other nodes. Runs that are running end by themselves; the next step moves their agents. Agents that others can
 * continue with their files and session are taken by the others (`takeoverStep`).
 */
export async function drainStep(draining: Draining): Promise<void> {
  const { store, home, doors, log } = draining;
  const { nodeId } = home;
  const node = await store.read((tx) => tx.nodes.getNode({ id: nodeId }));
  if (!node || node.drainingAt === null) return;
  for (const agent of await store.read((tx) => tx.agents.listAgentsOn({ nodeId }))) {
    const run = await store.read((tx) => tx.runs.getLiveRun({ agentId: agent.id }));
    if (agent.provider === EXTERNAL && run?.state === 'running') {
      // A client that joins again gets the reason in its error.
      await doors.closeExternal(agent.id);
      await doors.openExternal([agent]);
    } else if (run?.state === 'running') continue;
    await tryMove(draining, agent).catch((error: Error) => {
      log.warn({ agentId: agent.id, error: error.message }, 'an agent could not be moved');
    });
  }
}

async function tryMove(draining: Draining, { id }: Agent): Promise<void> {
  // It may have moved with its parent.
  const agent = await draining.store.read((tx) => tx.agents.getAgent({ id }));
  if (!agent || !(await hasNothingHere(draining, agent))) return;
  const able = ({ state, record }: ShownNode) =>
    state === 'alive' && (agent.provider === EXTERNAL || record?.providers.includes(agent.provider));
  const [best] = (await listNodes(draining)).filter(able).sort(byLoad);
  if (best) await moveAgent(draining, id, { node: best.id, withoutWorkspace: false });
}
