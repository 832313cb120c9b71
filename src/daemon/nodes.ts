import { existsSync } from 'node:fs';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { type NodeRecord, nodeState } from '../core/node.ts';
import { shorten } from '../core/text.ts';
import type { ShownNode } from '../http/api.ts';
import type { Tx } from '../store/store.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import type { Node } from './node.ts';

type Here = Pick<Node, 'store' | 'home' | 'clock'>;

type HereWithRules = Here & { readonly workspaces: WorkspaceRules };

export async function listNodes({ store, home, clock }: Here): Promise<ShownNode[]> {
  return store.read(async (tx) => {
    const now = await tx.nodes.readClock({ now: clock() });
    const loads = new Map((await tx.nodes.listLoads()).map((load) => [load.id, load]));
    return (await tx.nodes.listNodes()).map(({ id, record }) => ({
      ...(loads.get(id) ?? { agents: 0, running: 0, queued: 0 }),
      id,
      record,
      state: record === null ? 'dead' : nodeState(record, now),
      self: id === home.nodeId,
    }));
  });
}

/** Finds a node by name or id. */
export async function findNode(here: Here, reference: string): Promise<ShownNode> {
  const found = (await listNodes(here)).find(({ id, record }) => id === reference || record?.name === reference);
  if (found) return found;
  const message = `There is no node ${shorten(reference)}. Run \`substrat node list\` to see all nodes.`;
  throw new SubstratError('not_found', message);
}

/** Removes a node that no longer runs and has no agents. */
export async function removeNode(here: Here, reference: string): Promise<ShownNode> {
  const { store, clock } = here;
  const node = await findNode(here, reference);
  const { id, record, agents } = node;
  const name = record?.name ?? id;
  if (node.state === 'alive' || node.state === 'draining') {
    throw new SubstratError('conflict', `Node ${name} is running. Stop its daemon first.`);
  }
  if (agents > 0) {
    const message = `Node ${name} has ${countAgents(agents)}. Move them with \`substrat agent move\`, adopt them with \`substrat node adopt ${name}\`, or terminate them first.`;
    throw new SubstratError('conflict', message);
  }
  await store.write(async (tx) => {
    await tx.nodes.removeNode({ id });
    await tx.nodes.clearNodeRequests({ nodeId: id });
    await tx.events.appendEvent({ type: 'node_removed', at: clock(), data: { nodeId: id, node: name } });
  });
  return node;
}

/** Notices for the owner: agents of nodes that do not run, and workspaces in the home's previous location. */
export async function nodeNotices(place: HereWithRules): Promise<string[]> {
  const gone = (await listNodes(place)).filter(
    ({ state, agents, self }) => !self && agents > 0 && (state === 'dead' || state === 'stopped'),
  );
  const moved = await findMoves(place, place.home.nodeId);
  return [
    ...gone.map(({ id, record, agents }) => {
      const where = record === null ? '' : ` (${record.name}, ${record.home})`;
      return `${countAgents(agents)} in the store ${agents === 1 ? 'belongs' : 'belong'} to node ${id}${where}, which is not running, so their turns do not run. If this home replaces that node, run \`substrat node adopt ${id}\`.`;
    }),
    ...(moved.length > 0
      ? [
          `${moved.length} workspaces of this home have paths in its previous location, such as ${moved[0]?.from}. Run \`substrat node adopt ${place.home.nodeId}\` to use those in ${place.home.path}.`,
        ]
      : []),
  ];
}

interface Wiring {
  /** Ends the runs that the node left, as a starting daemon does. Calls `afterwards` in the same transaction. */
  readonly recover: (nodeId: string, afterwards: (tx: Tx) => Promise<void>) => Promise<unknown>;
  /** Opens the sockets of the adopted agents and starts their waiting runs. */
  readonly open: (agents: readonly Agent[]) => Promise<void>;
}

/** Moves the agents of a node that is gone to this node. For this node itself, only updates moved workspaces. */
export async function adoptNode(
  place: HereWithRules,
  { id: reference, force }: { readonly id: string; readonly force: boolean },
  { recover, open }: Wiring,
): Promise<{ agents: number; workspaces: number }> {
  const { store, home, clock } = place;
  const node = await findNode(place, reference);
  const { id, record } = node;
  if (!node.self && (node.state === 'alive' || node.state === 'draining') && !force) {
    const { name, home: there, deadAfterMs } = record as NodeRecord;
    const message = `Node ${name} (${id}, ${there}) was seen less than ${deadAfterMs / 1000} seconds ago. Stop its daemon first. If it no longer runs, add --force.`;
    throw new SubstratError('conflict', message);
  }
  const moves = await findMoves(place, id);
  const moveWorkspaces = async (tx: Tx): Promise<void> => {
    for (const move of moves) await tx.workspaces.moveDirectory({ ...move, nodeId: home.nodeId });
  };
  if (node.self) {
    await store.write(moveWorkspaces);
    return { agents: 0, workspaces: moves.length };
  }
  await recover(id, async (tx) => {
    await tx.nodes.adoptNode({ from: id, to: home.nodeId });
    await moveWorkspaces(tx);
    await tx.runs.wakeAllAgents({ nodeId: home.nodeId, now: clock() });
  });
  await open(await store.read((tx) => tx.agents.listAgentsOn({ nodeId: home.nodeId })));
  return { agents: node.agents, workspaces: moves.length };
}

/** Workspaces that Substrat created and whose directory is missing, or exists in this home now. */
async function findMoves(
  { store, workspaces }: HereWithRules,
  nodeId: string,
): Promise<{ readonly from: string; readonly to: string }[]> {
  const made = await store.read((tx) => tx.workspaces.listMadeWorkspaces({ nodeId }));
  return made.flatMap(({ path }) => {
    const [, name] = /\/workspaces\/([^/]+)$/.exec(path) ?? [];
    const to = name === undefined ? path : workspaces.directory(name);
    return to !== path && (existsSync(to) || !existsSync(path)) ? [{ from: path, to }] : [];
  });
}

function countAgents(count: number): string {
  return count === 1 ? '1 agent' : `${count} agents`;
}
