import { USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { createChannel } from '../messaging/channels.ts';
import { resolveParticipant } from '../messaging/members.ts';
import type { Daemon } from './daemon.ts';

/** `[channels.*]`: channels that exist from the start, with the owner in each. One that exists stays as it is. */
export async function createChannels(daemon: Daemon): Promise<void> {
  for (const { id, kind, topic, members, wake } of daemon.config.channels) {
    await daemon.store.write(async (tx) => {
      if (await tx.getChannel({ id })) return;
      const ids = new Map<string, string>();
      for (const name of members) {
        const participant = await resolveParticipant(tx, name).catch((error: Error) => {
          throw new SubstratError('config', `[channels.${id}] members: ${error.message}`);
        });
        ids.set(name, participant.id);
      }
      await createChannel(tx, { id, kind, topic, memberIds: [USER_ID, ...ids.values()] }, USER_ID, daemon.clock());
      for (const [name, setting] of Object.entries(wake)) {
        await tx.setWake({ channelId: id, participantId: ids.get(name) as string, wake: setting });
      }
    });
  }
}
