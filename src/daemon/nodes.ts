import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { ShownNode } from '../http/api.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import type { Node } from './node.ts';

/** How often a daemon stores a heartbeat, and how long without one until it counts as gone. */
export const HEARTBEAT_MS = 60_000;
const SILENCE_MS = 3 * HEARTBEAT_MS;

type Here = Pick<Node, 'store' | 'home' | 'clock'>;

type Place = Here & { readonly workspaces: WorkspaceRules };

export async function seeNode({ store, home, clock }: Here): Promise<void> {
  await store.write((tx) => tx.nodes.seeNode({ id: home.nodeId, name: hostname(), home: home.path, seenAt: clock() }));
}

/** Marks the node as gone at once when its daemon stops cleanly. */
export async function leaveNode({ store, home, clock }: Here): Promise<void> {
  const seenAt = clock() - SILENCE_MS;
  await store.write((tx) => tx.nodes.seeNode({ id: home.nodeId, name: hostname(), home: home.path, seenAt }));
}

export async function listNodes({ store, home, clock }: Here): Promise<ShownNode[]> {
  const nodes = await store.read((tx) => tx.nodes.listNodes());
  return nodes.map(({ seenAt, ...node }) => {
    const alive = seenAt !== null && clock() - seenAt < SILENCE_MS;
    const state = node.id === home.nodeId ? 'this' : alive ? 'alive' : 'gone';
    return { ...node, state, seenAt };
  });
}

/** Notices for the owner: agents of nodes that do not run, and workspaces with paths in the home's previous location. */
export async function nodeNotices(place: Place): Promise<string[]> {
  const gone = (await listNodes(place)).filter(({ state, agents }) => state === 'gone' && agents > 0);
  const moved = await findMoves(place, place.home.nodeId);
  return [
    ...gone.map(({ id, name, home, agents }) => {
      const where = home === null ? '' : ` (${name}, ${home})`;
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
  /** Ends the runs that the node left, as a starting daemon does. */
  readonly recover: (nodeId: string) => Promise<unknown>;
  /** Opens the sockets of the adopted agents and starts their waiting runs. */
  readonly open: (agents: readonly Agent[]) => Promise<void>;
}

/** Moves the agents of a node that is gone to this node. For this node itself, only updates moved workspaces. */
export async function adoptNode(
  place: Place,
  { id, force }: { readonly id: string; readonly force: boolean },
  { recover, open }: Wiring,
): Promise<{ agents: number; workspaces: number }> {
  const { store, home, clock } = place;
  const node = (await listNodes(place)).find((one) => one.id === id);
  if (!node)
    throw new SubstratError(
      'not_found',
      `There is no node ${id.slice(0, 80)}. Run \`substrat node list\` to see all nodes.`,
    );
  if (node.state === 'alive' && !force) {
    const message = `Node ${id} (${node.name}, ${node.home}) was seen less than ${SILENCE_MS / 60_000} minutes ago. Stop its daemon first. If it no longer runs, add --force.`;
    throw new SubstratError('conflict', message);
  }
  const moves = await findMoves(place, id);
  if (node.state !== 'this') await recover(id);
  await store.write(async (tx) => {
    if (id !== home.nodeId) await tx.nodes.adoptNode({ from: id, to: home.nodeId });
    for (const move of moves) await tx.workspaces.moveDirectory({ ...move, nodeId: home.nodeId });
    await tx.runs.wakeAllAgents({ nodeId: home.nodeId, now: clock() });
  });
  if (node.state === 'this') return { agents: 0, workspaces: moves.length };
  await open(await store.read((tx) => tx.agents.listAgentsOn({ nodeId: home.nodeId })));
  return { agents: node.agents, workspaces: moves.length };
}

/** Workspaces that Substrat created and whose directory is missing, or exists in this home now. */
async function findMoves(
  { store, workspaces }: Place,
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
