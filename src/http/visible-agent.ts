import { SubstratError } from '../core/errors.ts';
import { resolveReference } from '../messaging/reference.ts';
import type { AgentRow, Tx } from '../store/store.ts';
import type { Caller } from './access.ts';

/** The owner sees everyone; others see roots, and those with whom they share a channel. For them, the rest does not exist. */
export async function visibleAgent(tx: Tx, caller: Caller, reference: string): Promise<AgentRow> {
  const agent = await resolveReference(tx, reference).catch((error) => {
    if (!caller.owner && error instanceof SubstratError) throw notThere(reference);
    throw error;
  });
  if (caller.owner || agent.parent_id === null) return agent;
  if (await tx.shareChannel({ a: caller.id, b: agent.id })) return agent;
  throw notThere(reference);
}

function notThere(reference: string): SubstratError {
  return new SubstratError('not_found', `There is no agent "${reference.slice(0, 80)}" that you can see.`);
}
