import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentView } from '../store/store.ts';
import { childNamed } from './children.ts';
import { advance, passTurns } from './rounds.ts';
import type { Tx } from './tx.ts';

/** No turn of the child begins until it is ungated; messages to it wait. A turn that has begun goes on. */
export async function gateChild(tx: Tx, parent: Agent, name: string, now: number): Promise<void> {
  const child = await childNamed(tx, parent, name);
  await tx.agents.setGate({ id: child.id, at: child.gatedAt ?? now });
  const data = { agentId: child.id, by: parent.id };
  await tx.events.appendEvent({ type: 'agent_gated', at: now, agentId: child.id, data });
  // The others in a channel do not wait for it.
  await passTurns(tx, child.id, now);
}

/** Opens the gate; whatever waits starts a turn. */
export async function ungateChild(tx: Tx, parent: Agent, name: string, now: number): Promise<void> {
  const child = await childNamed(tx, parent, name);
  if (child.gatedAt === null) throw new SubstratError('conflict', `${name} is not gated.`);
  await openGate(tx, child, parent.id, now);
}

/** The owner may open every gate. */
export async function openGate(tx: Tx, agent: Agent, by: string, now: number): Promise<void> {
  await tx.agents.setGate({ id: agent.id, at: null });
  await tx.events.appendEvent({ type: 'agent_ungated', at: now, agentId: agent.id, data: { agentId: agent.id, by } });
  await proceed(tx, agent.id, now);
}

/** Lets one turn of a gated child begin. The gate closes again as it begins. */
export async function permitChild(tx: Tx, parent: Agent, name: string, now: number): Promise<void> {
  const { id } = await childNamed(tx, parent, name);
  const child = (await tx.agents.getAgentView({ id })) as AgentView;
  if (child.gatedAt === null) throw new SubstratError('conflict', `${name} is not gated; it takes turns by itself.`);
  if (child.running > 0)
    throw new SubstratError('conflict', `${name} is in a turn. Permit the next one when it has ended.`);
  if (child.pending === 0 && child.runState === null) {
    throw new SubstratError('conflict', `Nothing waits for ${name}. Send it a message first.`);
  }
  await tx.agents.setPermitted({ id });
  await proceed(tx, id, now);
}

/** Takes its place in channels, and wakes it if something waits. */
async function proceed(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const { channelId } of await tx.rounds.listPlacesOf({ agentId })) await advance(tx, channelId, now);
  await tx.runs.wakeAgent({ agentId, now });
}
