import { keyOf, USER, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';
import type { AgentRow, Tx } from '../store/store.ts';

/** Whom a message reaches. `agent` is null for a person. */
export interface Recipient {
  readonly id: string;
  readonly handle: string;
  readonly agent: AgentRow | null;
}

const person: Recipient = { id: USER_ID, handle: USER_ID, agent: null };

/** One hop: parent, children and siblings by name; a root reaches `USER` besides. */
export async function resolveRecipient(tx: Tx, sender: AgentRow, name: string): Promise<Recipient> {
  if (keyOf(name) === USER_ID) {
    if (sender.parent_id === null) return person;
    throw new SubstratError('forbidden', `Only a root agent may write to ${USER}; send it to your parent.`);
  }
  const agent = await tx.getNeighbour({ id: sender.id, parentId: sender.parent_id ?? '', nameKey: keyOf(name) });
  if (agent) return { id: agent.id, handle: agent.handle, agent };
  const names = (await tx.listNeighbours(sender)).map((neighbour) => neighbour.name);
  if (sender.parent_id === null) names.push(USER);
  throw new SubstratError(
    'not_found',
    `"${shorten(name)}" is not your parent, a child or a sibling. You can reach: ${shorten(names.join(', '), 400) || 'nobody'}.`,
  );
}
