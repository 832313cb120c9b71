import type { Agent } from '../core/agent.ts';
import { keyOf, USER, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';
import type { Tx } from './tx.ts';

/** The recipient of a message. `agent` is null for a person. */
export interface Recipient {
  readonly id: string;
  readonly handle: string;
  readonly agent: Agent | null;
}

const person: Recipient = { id: USER_ID, handle: USER_ID, agent: null };

/** One hop: parent, children and siblings by name; a root also reaches `USER`. */
export async function resolveRecipient(tx: Tx, sender: Agent, name: string): Promise<Recipient> {
  if (keyOf(name) === USER_ID) {
    if (sender.parentId === null) return person;
    throw new SubstratError('forbidden', `Only a root agent may write to ${USER}. Send the message to your parent.`);
  }
  const agent = await tx.agents.getNeighbour({ id: sender.id, parentId: sender.parentId ?? '', nameKey: keyOf(name) });
  if (agent) return { id: agent.id, handle: agent.handle, agent };
  const names = (await tx.agents.listNeighbours(sender)).map((neighbour) => neighbour.name);
  if (sender.parentId === null) names.push(USER);
  throw new SubstratError(
    'not_found',
    `"${shorten(name)}" is not your parent, a child or a sibling. You can reach: ${shorten(names.join(', '), 400) || 'nobody'}.`,
  );
}
