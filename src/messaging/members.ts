import { keyOf, USER_ID } from '../core/agent.ts';
import type { Channel, Wake } from '../core/channel.ts';
import { SubstratError } from '../core/errors.ts';
import { checkLine } from '../core/line.ts';
import { shorten } from '../core/text.ts';
import type { Side } from './channels.ts';
import { resolveReference } from './reference.ts';
import { endTurns } from './rounds.ts';
import type { Tx, TypedTx } from './tx.ts';

/** Members may add others; anybody may join a public channel. */
export async function addMember(
  tx: Tx,
  channel: Channel,
  by: string,
  wanted: { readonly participantId: string; readonly wake: Wake },
  now: number,
): Promise<void> {
  refuseFixed(channel);
  const own = wanted.participantId === by && channel.kind === 'public';
  if (!own) await insiderOnly(tx, channel, by);
  const joined = await tx.channels.tryJoinChannel({ channelId: channel.id, ...wanted });
  if (joined) await appendMemberEvent(tx, 'member_joined', channel, wanted.participantId, by, now);
}

/** Anybody may leave; only the creator of the channel may remove others. */
export async function removeMember(
  tx: Tx,
  channel: Channel,
  by: string,
  participantId: string,
  now: number,
): Promise<void> {
  refuseFixed(channel);
  if (participantId !== by && by !== USER_ID && by !== channel.createdBy) {
    throw new SubstratError('forbidden', `Only the owner and the creator of ${channel.id} may remove others.`);
  }
  // Announced while the leaving member can still see it.
  await appendMemberEvent(tx, 'member_left', channel, participantId, by, now);
  if (!(await tx.channels.tryLeaveChannel({ channelId: channel.id, participantId })))
    throw notIn(channel, participantId);
  await tx.deliveries.killDeliveriesIn({ agentId: participantId, channelId: channel.id });
  await endTurns(tx, participantId, now);
}

/** Only the creator of the channel sets what wakes agents, otherwise a later member could silence others. */
export async function setWake(
  tx: Tx,
  channel: Channel,
  by: string,
  wanted: { readonly participantId: string; readonly wake: Wake },
  now: number,
): Promise<void> {
  refuseFixed(channel);
  if (by !== USER_ID && by !== channel.createdBy) {
    throw new SubstratError(
      'forbidden',
      `Only the owner and the creator of ${channel.id} may set what wakes its agents.`,
    );
  }
  const { participantId, wake } = wanted;
  if (!(await tx.channels.trySetWake({ channelId: channel.id, participantId, wake })))
    throw notIn(channel, participantId);
  const data = { channelId: channel.id, participantId, wake, by };
  await tx.events.appendEvent({ type: 'member_updated', at: now, channelId: channel.id, data });
}

export async function setTopic(tx: Tx, channel: Channel, by: string, topic: string, now: number): Promise<void> {
  refuseFixed(channel);
  await insiderOnly(tx, channel, by);
  checkLine('The topic', topic);
  await tx.channels.setTopic({ id: channel.id, topic });
  const data = { channelId: channel.id, topic, by };
  await tx.events.appendEvent({ type: 'channel_updated', at: now, channelId: channel.id, data });
}

/** The handle of a person or an agent, or any other reference to an agent. */
export async function resolveParticipant(tx: TypedTx, reference: string): Promise<Side> {
  const participant = await tx.participants.getParticipant({ handleKey: keyOf(reference) });
  if (participant?.kind === 'person') return participant;
  return resolveReference(tx, reference).catch((error: unknown) => {
    if (!(error instanceof SubstratError) || error.code !== 'not_found') throw error;
    throw new SubstratError('not_found', `There is no agent or person "${shorten(reference)}".`);
  });
}

async function insiderOnly(tx: Tx, channel: Channel, by: string): Promise<void> {
  if (by === USER_ID || (await tx.channels.isMember({ channelId: channel.id, participantId: by }))) return;
  throw new SubstratError('forbidden', `Only members of ${channel.id} may change it; join it first.`);
}

function refuseFixed(channel: Channel): void {
  if (channel.kind === 'dm')
    throw new SubstratError('conflict', `${channel.id} is a DM; its two members cannot change.`);
  if (channel.teamOf !== null) {
    throw new SubstratError('conflict', `${channel.id} is a team channel; its members are the agents of the team.`);
  }
}

function notIn(channel: Channel, participantId: string): SubstratError {
  return new SubstratError('not_found', `${shorten(participantId)} is not in ${channel.id}.`);
}

async function appendMemberEvent(
  tx: Tx,
  type: 'member_joined' | 'member_left',
  channel: Channel,
  participantId: string,
  by: string,
  now: number,
) {
  await tx.events.appendEvent({
    type,
    at: now,
    channelId: channel.id,
    data: { channelId: channel.id, participantId, by },
  });
}
