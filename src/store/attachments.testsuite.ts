import { describe, expect, test } from 'vitest';
import { addAgent, attachTo, type StoreKit, send, startRun } from './store.testkit.ts';

export function testAttachments({ read, write }: StoreKit): void {
  const create = () =>
    write(async (tx) => {
      const agent = await addAgent(tx);
      return { agent, messageId: await send(tx, { to: agent, text: 'x' }) };
    });

  describe('attachments', () => {
    test('are in order, and their bytes are stored once', async () => {
      const { messageId } = await create();
      const text = `same ${messageId}`;
      const [first, second] = await write(async (tx) => [
        await attachTo(tx, messageId, { name: 'b', text, position: 1 }),
        await attachTo(tx, messageId, { name: 'a', text, position: 0 }),
      ]);
      expect(first).toBe(second);
      const listed = await read((tx) => tx.attachments.listAttachments({ messageIds: [messageId] }));
      const size = Buffer.byteLength(text);
      const file = { messageId, hash: first, mediaType: 'image/png', size };
      expect(listed).toEqual([
        { ...file, position: 0, name: 'a' },
        { ...file, position: 1, name: 'b' },
      ]);
      const stored = await read((tx) => tx.attachments.getFile({ hash: first ?? '' }));
      expect(Buffer.from(stored?.bytes ?? []).toString()).toBe(text);
      expect(await read((tx) => tx.attachments.listAttachments({ messageIds: [] }))).toEqual([]);
    });

    test('end with their message; a file that another message carries stays', async () => {
      const [one, other] = [await create(), await create()];
      const text = `shared ${one.messageId}`;
      const hash = await write((tx) => attachTo(tx, one.messageId, { text }));
      await write((tx) => attachTo(tx, other.messageId, { text }));
      await write((tx) => tx.attachments.deleteAttachments({ messageId: one.messageId }));
      expect(await read((tx) => tx.attachments.listAttachments({ messageIds: [one.messageId] }))).toEqual([]);
      expect(await read((tx) => tx.attachments.getFile({ hash }))).not.toBeNull();
      await write((tx) => tx.attachments.deleteAttachments({ messageId: other.messageId }));
      expect(await read((tx) => tx.attachments.getFile({ hash }))).toBeNull();
    });

    test('of the messages that a run carries', async () => {
      const { agent, messageId } = await create();
      await write((tx) => attachTo(tx, messageId));
      const run = await write(async (tx) => {
        const started = await startRun(tx, agent);
        await tx.deliveries.injectDelivery({ messageId, agentId: agent.id, runId: started.id });
        return started;
      });
      expect(await read((tx) => tx.attachments.listCarriedAttachments({ runId: run.id }))).toMatchObject([
        { messageId, name: 'a.png' },
      ]);
      expect(await read((tx) => tx.attachments.listCarriedAttachments({ runId: 'other' }))).toEqual([]);
    });
  });
}
