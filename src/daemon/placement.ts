import { isAbsolute } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { AgentWish, ShownNode } from '../http/api.ts';
import { resolveReference } from '../messaging/reference.ts';
import { findWorkspace } from '../workspaces/access.ts';
import { isInside } from '../workspaces/paths.ts';
import type { Node } from './node.ts';
import { findNode, listNodes } from './nodes.ts';

type Here = Pick<Node, 'store' | 'home' | 'clock' | 'config'>;
type Wish = Pick<
  AgentWish,
  'name' | 'parent' | 'workspace' | 'worktree' | 'clone' | 'program' | 'provider' | 'node' | 'labels'
>;

/**
 * The node for a new agent: the one where its workspace is, the one that was named, or the least loaded one that has
 * the labels and the provider. A program, a directory and an external agent's client are on the machine of the node
 * that was asked.
 */
export async function placeAgent(here: Here, wish: Wish): Promise<string> {
  const { home, config } = here;
  const bound = await boundTo(here, wish);
  const named = wish.node === null ? null : await findNode(here, wish.node);
  if (bound !== null) {
    if (named && named.id !== bound.nodeId) {
      const message = `${wish.name} would share the workspace of ${bound.with}, which is on another node. Give it a workspace of its own, or omit the node.`;
      throw new SubstratError('conflict', message);
    }
    return bound.nodeId;
  }
  if (named) {
    checkStarts(named);
    return named.id;
  }
  const nodes = await listNodes(here);
  const provider = wish.provider ?? config.daemon.defaultProvider;
  const isHere =
    wish.program !== null || wish.workspace !== null || wish.worktree || wish.clone !== null || provider === null;
  if (wish.labels.length === 0 && (isHere || provider === EXTERNAL)) return ownNode(home.nodeId, nodes);
  const able = nodes.filter(
    (node) =>
      node.state === 'alive' &&
      wish.labels.every((label) => node.record?.labels.includes(label)) &&
      (provider === null || provider === EXTERNAL || node.record?.providers.includes(provider)),
  );
  if (able.length === 0 && wish.labels.length === 0) return ownNode(home.nodeId, nodes);
  const [best] = able.sort(byLoad);
  if (best) return best.id;
  const what = provider === null ? '' : ` and the provider "${provider}"`;
  const message = `No running node has the labels ${wish.labels.join(', ')}${what}. Run \`substrat node list\` to see all nodes.`;
  throw new SubstratError('conflict', message);
}

/** Nodes with the fewest runs for their slots first, then those with the fewest agents. */
export function byLoad(a: ShownNode, b: ShownNode): number {
  const slots = (node: ShownNode) => Math.max(1, node.record?.slots ?? 1);
  const runs = (node: ShownNode) => (node.running + node.queued) / slots(node);
  const agents = (node: ShownNode) => node.agents / slots(node);
  return runs(a) - runs(b) || agents(a) - agents(b) || Number(b.self) - Number(a.self) || (a.id < b.id ? -1 : 1);
}

interface Bound {
  readonly nodeId: string;
  readonly with: string;
}

/** The node of the workspace that the agent will share. */
async function boundTo({ store }: Here, { parent, workspace, worktree, clone }: Wish): Promise<Bound | null> {
  return store.read(async (tx) => {
    const above = parent === null ? null : await resolveReference(tx, parent);
    const isShared = workspace === null || (isAbsolute(workspace) && above && isInside(above.workspace, workspace));
    if (above && isShared && !worktree && clone === null) {
      return { nodeId: above.nodeId, with: above.handle };
    }
    if (workspace === null || isAbsolute(workspace)) return null;
    const found = await findWorkspace(tx, { id: '', agent: null }, workspace);
    return { nodeId: found.nodeId, with: found.name };
  });
}

function ownNode(id: string, nodes: readonly ShownNode[]): string {
  const own = nodes.find((node) => node.id === id);
  if (own) checkStarts(own);
  return id;
}

export function checkStarts({ record, state }: ShownNode): void {
  if (state === 'alive') return;
  const name = record?.name ?? '';
  const how =
    state === 'draining' ? `Choose another node, or run \`substrat node undrain ${name}\`.` : 'Start its daemon.';
  throw new SubstratError('conflict', `The node ${name} is ${state}, so it takes no agents. ${how}`);
}
