import { USER_ID } from '../core/agent.ts';
import type { Channel } from '../core/channel.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import { shorten } from '../core/text.ts';
import type { DeletingTx } from './tx.ts';

/** What a deletion takes away. */
export interface Deleted {
  readonly agents: readonly { readonly id: AgentId; readonly handle: string; readonly nodeId: string }[];
  readonly messages: number;
  readonly runs: number;
}

/** Removes a terminated agent and its descendants, which are terminated with it, for good. */
export async function deleteAgent(tx: DeletingTx, id: AgentId, now: number): Promise<Deleted> {
  const agent = await tx.agents.getAgent({ id });
  if (!agent) throw new SubstratError('not_found', `There is no agent ${shorten(id)}.`);
  if (agent.terminatedAt === null) {
    throw new SubstratError(
      'conflict',
      `${agent.handle} is not terminated. Run \`substrat agent terminate ${agent.handle}\` first.`,
    );
  }
  const agents = await tx.deletions.listFamily({ id });
  const { messages, runs } = await tx.deletions.deleteAgents({ ids: agents.map((one) => one.id) });
  for (const { id: agentId, handle } of agents) {
    await tx.events.appendEvent({ type: 'agent_deleted', at: now, data: { agentId, handle } });
  }
  return { agents, messages, runs };
}

/**
 * Removes a channel with its messages for good. Posts that agents have yet to read go with it; a turn that has read some
 * must end first, because it is tried again with what it carries.
 */
export async function deleteChannel(
  tx: DeletingTx,
  channel: Channel,
  now: number,
): Promise<{ readonly messages: number }> {
  const { id, kind, teamOf, topic } = channel;
  const goes = 'it is deleted with its agent, by `substrat agent delete`';
  if (kind === 'dm') throw new SubstratError('conflict', `${id} is a DM; ${goes}.`);
  if (teamOf !== null) throw new SubstratError('conflict', `${id} is a team channel; ${goes}.`);
  // Changes nothing, but holds the channel and the trees of its readers: nobody posts or begins to read meanwhile.
  await tx.channels.setTopic({ id, topic });
  const readers = await tx.deletions.listReaders({ channelId: id });
  for (const { agentId, state } of readers) {
    if (state === 'waiting') await tx.deliveries.killDeliveriesIn({ agentId, channelId: id });
  }
  const busy = readers.filter(({ state }) => state === 'busy').map(({ handle }) => handle);
  if (busy.length > 0) {
    const what = `${busy.join(', ')} ${busy.length === 1 ? 'is' : 'are'} reading #${id} at this moment`;
    throw new SubstratError('conflict', `${what}. Try again after the turn, or end it with \`substrat run cancel\`.`);
  }
  const { messages } = await tx.deletions.deleteChannel({ id });
  await tx.events.appendEvent({ type: 'channel_deleted', at: now, data: { channelId: id, by: USER_ID, messages } });
  return { messages };
}
