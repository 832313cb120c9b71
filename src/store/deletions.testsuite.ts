import { describe, expect, test } from 'vitest';
import { addAgent, endRun, type StoreKit, send, startRun } from './store.testkit.ts';

export function testDeletions({ read, write }: StoreKit): void {
  describe('deleteChannel()', () => {
    test('removes a channel with its messages, members and places; nothing of others', async () => {
      const { ann, ben, kept, id } = await write(async (tx) => {
        const [ann, ben] = [await addAgent(tx), await addAgent(tx)];
        const id = `in-${ann.id}`;
        for (const channelId of [id, `in-${ben.id}`]) {
          await tx.channels.tryJoinChannel({ channelId, participantId: ann.id });
        }
        const post = await send(tx, { to: ann });
        await send(tx, { to: ann, inReplyTo: post });
        await tx.rounds.queuePlace({ channelId: id, agentId: ann.id });
        return { ann, ben, kept: await send(tx, { to: ben, inReplyTo: post }), id };
      });
      const readers = (channelId: string) => read((tx) => tx.deletions.listReaders({ channelId }));
      expect(await readers(id)).toEqual([{ agentId: ann.id, handle: ann.handle, state: 'waiting' }]);
      expect(await write((tx) => tx.deletions.deleteChannel({ id }))).toEqual({ messages: 2 });
      expect(await read((tx) => tx.channels.getChannel({ id }))).toBeNull();
      expect(await readers(id)).toEqual([]);
      expect(await read((tx) => tx.rounds.listPlacesOf({ agentId: ann.id }))).toEqual([]);
      const left = await read((tx) => tx.channels.listMemberships({ participantId: ann.id }));
      expect(left).toEqual([{ channelId: `in-${ben.id}` }]);
      expect(await read((tx) => tx.messages.getMessageView({ id: kept }))).toMatchObject({ inReplyTo: null });
      expect(await readers(`in-${ben.id}`)).toMatchObject([{ agentId: ben.id }]);
    });

    test('a turn that carries a message of it is listed as busy', async () => {
      const ann = await write(async (tx) => {
        const to = await addAgent(tx);
        const messageId = await send(tx, { to });
        const { id: runId } = await startRun(tx, to);
        await tx.deliveries.injectDelivery({ messageId, agentId: to.id, runId });
        return to;
      });
      expect(await read((tx) => tx.deletions.listReaders({ channelId: `in-${ann.id}` }))).toContainEqual({
        agentId: ann.id,
        handle: ann.handle,
        state: 'busy',
      });
    });
  });

  describe('deleteAgents()', () => {
    test('removes agents, what they wrote and were asked, and their runs; nothing of others', async () => {
      const { parent, child, other, kept } = await write(async (tx) => {
        const parent = await addAgent(tx);
        const child = await addAgent(tx, { parent });
        const other = await addAgent(tx);
        const asked = await send(tx, { to: parent, kind: 'request' });
        await send(tx, { to: child, from: parent.id, kind: 'request', parent: asked });
        await send(tx, { to: child, from: other.id, kind: 'request' });
        const said = await send(tx, { to: other, from: child.id });
        const kept = await send(tx, { to: other, inReplyTo: said });
        await endRun(tx, await startRun(tx, parent));
        await tx.agents.setTerminated({ id: child.id, at: 5 });
        return { parent, child, other, kept };
      });
      const family = await read((tx) => tx.deletions.listFamily({ id: parent.id }));
      expect(family.map(({ id }) => id).sort()).toEqual([parent.id, child.id].sort());
      expect(await write((tx) => tx.deletions.deleteAgents({ ids: [parent.id, child.id] }))).toEqual({
        messages: 5,
        runs: 1,
      });
      expect(await read((tx) => tx.agents.getAgent({ id: parent.id }))).toBeNull();
      expect(await read((tx) => tx.participants.getParticipantById({ id: child.id }))).toBeNull();
      expect(await read((tx) => tx.agents.getAgent({ id: other.id }))).toMatchObject({ handle: other.handle });
      expect(await read((tx) => tx.messages.getMessageView({ id: kept }))).toMatchObject({ inReplyTo: null });
    });
  });
}
