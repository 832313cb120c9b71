import { keyOf, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { createChannel } from '../messaging/channels.ts';
import { addMember, resolveParticipant } from '../messaging/members.ts';
import type { Tx } from '../store/store.ts';
import type { Members } from './members.ts';
import type { Node, Stored } from './node.ts';

/**
 * Creates the channels of `[channels.*]`; the owner is a member of each. An existing channel does not change, except
 * that members created by this call join it.
 */
export async function createChannels(
  { store, config, clock }: Pick<Node, 'store' | 'config' | 'clock'>,
  { made, missing }: Members,
  stored: Stored,
): Promise<void> {
  for (const { id, kind, topic, members, wake } of config.channels) {
    const make = async (tx: Tx) => {
      const existing = await tx.channels.getChannel({ id });
      const open = existing?.kind !== 'dm' && existing?.teamOf == null;
      if (existing && (made.size === 0 || !open)) return;
      const ids = new Map<string, string>();
      for (const name of members) {
        const participant = await resolveParticipant(tx, name).catch((error: Error) => {
          if (existing || missing.has(keyOf(name.slice(name.lastIndexOf('/') + 1)))) return null;
          throw new SubstratError('config', `[channels.${id}] members: ${error.message}`);
        });
        if (participant) ids.set(name, participant.id);
      }
      const now = clock();
      if (!existing) await createChannel(tx, { id, kind, topic, memberIds: [USER_ID, ...ids.values()] }, USER_ID, now);
      for (const [name, participantId] of ids) {
        const setting = wake[name];
        const joins = existing !== null && made.has(participantId);
        if (joins) await addMember(tx, existing, USER_ID, { participantId, wake: setting ?? 'all' }, now);
        else if (!existing && setting) await tx.channels.trySetWake({ channelId: id, participantId, wake: setting });
      }
    };
    await stored(() => store.write(make));
  }
}
