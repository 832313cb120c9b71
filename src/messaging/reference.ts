import type { Agent } from '../core/agent.ts';
import { keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import { shorten } from '../core/text.ts';
import type { Tx } from './tx.ts';

/**
 * Resolves a person's reference to an agent: an id, a handle, a path from its root (`lead/worker-1`), or a unique
 * name.
 */
export async function resolveReference(tx: Tx, reference: string): Promise<Agent> {
  const candidates = await candidatesOf(tx, reference);
  const [only] = candidates;
  if (only && candidates.length === 1) return only;
  if (!only) {
    throw new SubstratError(
      'not_found',
      `There is no agent "${shorten(reference)}". Run \`substrat agent list\` to see all agents.`,
    );
  }
  const list = candidates.map(({ handle, id }) => `${handle} (${id})`).join(', ');
  throw new SubstratError(
    'conflict',
    `"${shorten(reference)}" is ambiguous: ${list}. Use a path such as lead/worker, or an id.`,
  );
}

async function candidatesOf(tx: Tx, reference: string): Promise<Agent[]> {
  const byId = await tx.agents.getAgent({ id: reference });
  if (byId) return [byId];
  if (reference.includes('/')) return byPath(tx, reference.split('/').filter(Boolean));
  const named = await tx.agents.listAgentsNamed({ nameKey: keyOf(reference) });
  if (named.length > 0) return named;
  const participant = await tx.participants.getParticipant({ handleKey: keyOf(reference) });
  const byHandle = participant && (await tx.agents.getAgent({ id: participant.id as AgentId }));
  return byHandle ? [byHandle] : [];
}

async function byPath(tx: Tx, [first, ...rest]: string[]): Promise<Agent[]> {
  let agent = first === undefined ? null : await tx.agents.getRootByName({ nameKey: keyOf(first) });
  for (const name of rest) {
    const children = agent ? await tx.agents.listChildren({ id: agent.id }) : [];
    agent = children.find((child) => child.nameKey === keyOf(name)) ?? null;
  }
  return agent ? [agent] : [];
}
