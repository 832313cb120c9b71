import type { Agent } from '../core/agent.ts';
import { keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Side } from '../messaging/channels.ts';
import { resolveParticipant } from '../messaging/members.ts';
import { resolveReference } from '../messaging/reference.ts';
import type { Tx } from '../store/store.ts';
import type { Caller } from './access.ts';

/**
 * The owner sees everyone. Others see roots and the agents with whom they share a channel; the rest does not exist
 * for them.
 */
export async function visibleAgent(tx: Tx, caller: Caller, reference: string): Promise<Agent> {
  const agent = await resolveReference(tx, reference).catch((error: unknown) => {
    if (!caller.owner && error instanceof SubstratError) throw notThere(reference);
    throw error;
  });
  if (caller.owner || agent.parentId === null) return agent;
  if (await tx.channels.shareChannel({ a: caller.id, b: agent.id })) return agent;
  throw notThere(reference);
}

/** Whom a caller may add to a channel: any person by handle, and the agents that it sees. */
export async function visibleParticipant(tx: Tx, caller: Caller, reference: string): Promise<Side> {
  if (caller.owner) return resolveParticipant(tx, reference);
  const participant = await tx.participants.getParticipant({ handleKey: keyOf(reference) });
  return participant?.kind === 'person' ? participant : visibleAgent(tx, caller, reference);
}

function notThere(reference: string): SubstratError {
  return new SubstratError('not_found', `There is no agent "${reference.slice(0, 80)}" that you can see.`);
}
