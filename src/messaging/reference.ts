import { nearest } from '../config/nearest.ts';
import type { Agent } from '../core/agent.ts';
import { keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import { isIdEnding } from '../core/short-id.ts';
import { shorten } from '../core/text.ts';
import type { Tx, TypedTx } from './tx.ts';

/** How many handles a mistyped one is compared with. */
const MOST_COMPARED = 500;

/**
 * Resolves a person's reference to an agent: an id, a path from its root (`lead/worker-1`), the handle of a living
 * agent, a name that one living agent has or had, the handle of a terminated agent, or the end of an id.
 */
export async function resolveReference(tx: TypedTx, reference: string): Promise<Agent> {
  const candidates = await candidatesOf(tx, reference);
  const [only] = candidates;
  if (only && candidates.length === 1) return only;
  if (!only) throw await notFound(tx, reference);
  const list = candidates.map(({ handle, id }) => `${handle} (${id})`).join(', ');
  throw new SubstratError(
    'conflict',
    `"${shorten(reference)}" is ambiguous: ${list}. Use a handle, or the last 6 or more characters of an id.`,
  );
}

/** Only the owner reads this message: it names agents (`http/visible-agent.ts`). */
async function notFound(tx: TypedTx, reference: string): Promise<SubstratError> {
  const living = await tx.agents.listAgentViews({ after: null, limit: MOST_COMPARED, all: false });
  const meant = nearest(
    reference.slice(0, 100),
    living.map(({ handle }) => handle),
  );
  const help = meant === null ? 'Run `substrat agent list` to see all agents.' : `Did you mean "${meant}"?`;
  return new SubstratError('not_found', `There is no agent "${shorten(reference)}". ${help}`);
}

async function candidatesOf(tx: TypedTx, reference: string): Promise<Agent[]> {
  const byId = await tx.agents.getAgent({ id: reference });
  if (byId) return [byId];
  if (reference.includes('/')) return byPath(tx, reference.split('/').filter(Boolean));
  const participant = await tx.participants.getParticipant({ handleKey: keyOf(reference) });
  const byHandle = participant && (await tx.agents.getAgent({ id: participant.id as AgentId }));
  if (byHandle?.terminatedAt === null) return [byHandle];
  const named = await tx.agents.listAgentsNamed({ nameKey: keyOf(reference) });
  if (named.length > 0) return named;
  const once = await tx.agents.listFormerlyNamed({ nameKey: keyOf(reference) });
  if (once.length > 0) return once;
  if (byHandle) return [byHandle];
  const ending = isIdEnding(reference) ? await tx.ids.listIdsEnding({ kind: 'agents', ending: reference }) : [];
  const agents: Agent[] = [];
  for (const id of ending) agents.push((await tx.agents.getAgent({ id })) as Agent);
  return agents;
}

async function byPath(tx: Tx, [first, ...rest]: string[]): Promise<Agent[]> {
  let agent = first === undefined ? null : await tx.agents.getRootByName({ nameKey: keyOf(first) });
  for (const name of rest) {
    // Without siblings and parent of its own, its neighbours are its children.
    agent = agent && (await tx.agents.getNeighbour({ id: agent.id, parentId: '', nameKey: keyOf(name) }));
  }
  return agent ? [agent] : [];
}
