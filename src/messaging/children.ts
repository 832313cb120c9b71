import { type Agent, keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { withPair } from '../core/metadata.ts';
import { shorten } from '../core/text.ts';
import { terminateAgent } from './tree.ts';
import type { Tx } from './tx.ts';

/** The living child of that name; a parent steers only its direct children. */
export async function childNamed(tx: Tx, parent: Agent, name: string): Promise<Agent> {
  const child = await tx.agents.getNeighbour({ id: parent.id, parentId: '', nameKey: keyOf(name) });
  if (child?.parentId === parent.id) return child;
  throw new SubstratError('not_found', `"${shorten(name)}" is not one of your children.`);
}

export interface TerminatedChild {
  /** The child and its descendants. */
  readonly ended: readonly Agent[];
  /** Runs whose processes must be killed. */
  readonly fenced: readonly string[];
  /** The parent's requests to them, which nobody will answer. */
  readonly closed: readonly string[];
}

/** Terminates a child and its subtree for its parent, which gets no error replies for what it asked them. */
export async function terminateChild(tx: Tx, parent: Agent, name: string, now: number): Promise<TerminatedChild> {
  const child = await childNamed(tx, parent, name);
  const ended = await tx.agents.listSubtree({ id: child.id });
  const { fenced, closed } = await terminateAgent(tx, child, `${parent.handle} terminated it`, now, parent.id);
  return { ended, fenced, closed };
}

/** Sets one pair of the child's metadata, or removes it by null. */
export async function noteAboutChild(
  tx: Tx,
  parent: Agent,
  { name, key, value }: { readonly name: string; readonly key: string; readonly value: string | null },
  now: number,
): Promise<void> {
  const child = await childNamed(tx, parent, name);
  await tx.agents.setMetadata({ id: child.id, metadata: withPair(child.metadata, key, value) });
  const data = { agentId: child.id, key, by: parent.id };
  await tx.events.appendEvent({ type: 'agent_noted', at: now, agentId: child.id, data });
}
