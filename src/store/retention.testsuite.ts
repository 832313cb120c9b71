import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { addAgent, answer, endRun, queueRun, type StoreKit, send, startRun, usedBy } from './store.testkit.ts';
import type { Tx } from './store.ts';

/** The time of recent items. Messages of the kit have the time 0. */
const NOW = 1_000;

export function testRetention({ read, write }: StoreKit): void {
  const place = { seq: -1, id: '' };

  /** Removes in steps, as the daemon does. */
  async function pruneAll<Place>(
    first: Place,
    prune: (tx: Tx, after: Place) => Promise<{ removed: number; next: Place | null }>,
  ): Promise<number> {
    let removed = 0;
    for (let after: Place | null = first; after !== null; ) {
      const from: Place = after;
      const done = await write((tx) => prune(tx, from));
      removed += done.removed;
      after = done.next;
    }
    return removed;
  }
  const exists = (id: string) => read(async (tx) => (await tx.messages.getMessage({ id })) !== null);

  describe('retention', () => {
    test('of messages removes old, settled ones with everything that belongs to them', async () => {
      const made = await write(async (tx) => {
        const [asker, recipient] = [await addAgent(tx), await addAgent(tx)];
        const settled = await send(tx, { to: recipient, from: asker.id, kind: 'request' });
        await tx.deliveries.acknowledgeDelivery({ messageId: settled, agentId: recipient.id });
        const child = await send(tx, { to: asker, from: recipient.id, kind: 'request', parent: settled });
        await tx.deliveries.acknowledgeDelivery({ messageId: child, agentId: asker.id });
        const childReply = await answer(tx, child, recipient, asker);
        await tx.deliveries.acknowledgeDelivery({ messageId: childReply, agentId: recipient.id });
        const reply = await answer(tx, settled, asker, recipient);
        await tx.deliveries.acknowledgeDelivery({ messageId: reply, agentId: asker.id });
        await tx.messages.tryAddReaction({ messageId: settled, emoji: '👍', participantId: asker.id, at: 1 });
        await tx.broadcasts.insertBroadcast({ messageId: reply, authorId: recipient.id, quiet: false, closesAt: 1 });
        await tx.broadcasts.tryCloseBroadcast({ id: reply, at: 1 });
        const pending = await send(tx, { to: recipient });
        const open = await send(tx, { to: recipient, kind: 'request' });
        await tx.deliveries.acknowledgeDelivery({ messageId: open, agentId: recipient.id });
        return { settled, child, childReply, reply, pending, open };
      });
      const step = (tx: Tx, after: number) => tx.retention.pruneMessages({ before: 1, after, limit: 200 });
      const removed = await pruneAll(0, step);
      expect(removed).toBeGreaterThanOrEqual(4);
      expect(await Promise.all([made.settled, made.child, made.childReply, made.reply].map(exists))).toEqual([
        false,
        false,
        false,
        false,
      ]);
      expect(await Promise.all([made.pending, made.open].map(exists))).toEqual([true, true]);
      expect(await pruneAll(0, step)).toBe(0);
    });

    test('of messages keeps recent ones, those of a live run, and those of a thread', async () => {
      const { triggered, root, run } = await write(async (tx) => {
        const agent = await addAgent(tx);
        const running = await startRun(tx, agent);
        const [carried] = await tx.deliveries.listPending({ agentId: agent.id, limit: 1 });
        const first = (carried as { messageId: string }).messageId;
        await tx.runs.setRunStart({ id: running.id, serves: first, triggerId: first, chainDepth: 0, payerId: null });
        await tx.deliveries.acknowledgeDelivery({ messageId: first, agentId: agent.id });
        await tx.requests.tryCloseRequest({ id: first, at: 1 });
        const begun = await send(tx, { to: agent });
        await tx.deliveries.acknowledgeDelivery({ messageId: begun, agentId: agent.id });
        await tx.events.appendEvent({ type: 'agent_resumed', at: 0, data: { agentId: 'a' } });
        await tx.messages.insertMessage({
          id: randomUUID(),
          channelId: `in-${agent.id}`,
          authorId: 'user',
          runId: null,
          kind: 'message',
          text: 'in the thread',
          inReplyTo: null,
          late: false,
          chainDepth: 0,
          createdAt: NOW,
          threadId: begun,
          trace: null,
          payerId: null,
        });
        return { triggered: first, root: begun, run: running };
      });
      const prune = () =>
        pruneAll(0, (tx, after: number) => tx.retention.pruneMessages({ before: 1, after, limit: 200 }));
      await prune();
      expect([await exists(triggered), await exists(root)]).toEqual([true, true]);
      await write((tx) => endRun(tx, run));
      await prune();
      expect([await exists(triggered), await exists(root)]).toEqual([false, true]);
      expect(await read((tx) => tx.runs.getRun({ id: run.id }))).toMatchObject({ triggerId: null, serves: null });
    });

    test('of runs and their records removes ended ones, records first, in steps', async () => {
      const { ended, running, waiting } = await write(async (tx) => {
        const record = async (runId: string) => {
          for (let i = 0; i < 5; i++) {
            await tx.records.insertRecord({
              runId,
              step: 1,
              attempt: 1,
              type: 'assistant_message',
              tool: null,
              callId: null,
              callKey: null,
              content: 'x',
              isError: false,
              effect: false,
              createdAt: 1,
            });
          }
        };
        const one = await startRun(tx, await addAgent(tx));
        await record(one.id);
        await endRun(tx, one);
        await tx.deliveries.endCarried({ runId: one.id, state: 'acknowledged' });
        const two = await startRun(tx, await addAgent(tx));
        await record(two.id);
        for (const run of [one, two]) await tx.runs.setUsage(usedBy(run, { inputTokens: 1 }));
        return { ended: one, running: two, waiting: await queueRun(tx, await addAgent(tx)) };
      });
      const records = (id: string) => read(async (tx) => (await tx.records.listRecords({ runId: id })).length);
      const runs = (before: number) =>
        pruneAll(place, (tx, after) => tx.retention.pruneRuns({ before, after, limit: 200 }));
      // In this kit a run ends at 2000.
      expect(await records(ended.id)).toBe(5);
      await pruneAll(place, (tx, after) => tx.retention.pruneRecords({ before: 2000, after, limit: 200 }));
      await runs(2001);
      expect(await records(ended.id)).toBe(5);
      expect(await read((tx) => tx.runs.getRun({ id: ended.id }))).not.toBeNull();
      await pruneAll(place, (tx, after) => tx.retention.pruneRecords({ before: 2001, after, limit: 200 }));
      expect([await records(ended.id), await records(running.id)]).toEqual([0, 5]);
      await runs(2001);
      expect(await read((tx) => tx.runs.getRun({ id: ended.id })), 'its usage is in no total').not.toBeNull();
      while ((await write((tx) => tx.runs.tallyRuns({ limit: 200 }))) > 0);
      const usage = await read((tx) => tx.runs.getUsage({ agentId: ended.agentId }));
      await runs(2001);
      expect(await read((tx) => tx.runs.getRun({ id: ended.id }))).toBeNull();
      expect(usage.runs).toBeGreaterThan(0);
      expect(await read((tx) => tx.runs.getUsage({ agentId: ended.agentId }))).toEqual(usage);
      for (const { id } of [running, waiting]) expect(await read((tx) => tx.runs.getRun({ id }))).not.toBeNull();
      const used = (runId: string) => read(async (tx) => (await tx.runs.listRunUsage({ runId })).length);
      expect([await used(ended.id), await used(running.id)]).toEqual([0, 1]);
    });

    test('of history removes earlier texts, never the last one', async () => {
      const ids = [randomUUID(), randomUUID()];
      await write(async (tx) => {
        for (const id of ids) {
          const row = { id, ownerId: 'user', label: id, labelKey: id, text: 'c', version: 3, open: false };
          await tx.memory.insertBlock({ ...row, createdAt: 1, updatedAt: 3, deletedAt: null });
          for (const version of [1, 2, 3]) {
            await tx.memory.insertBlockChange({ blockId: id, version, text: 'x', changedBy: 'user', at: version });
          }
        }
      });
      const versions = (id: string) =>
        read(async (tx) =>
          (await tx.memory.listBlockChanges({ blockId: id, before: 9, limit: 9 })).map(({ version }) => version),
        );
      const first = { blockId: '', version: 0 };
      const prune = (before: number) =>
        pruneAll(first, (tx, after) => tx.retention.pruneHistory({ before, after, limit: 2 }));
      await prune(2);
      expect(await Promise.all(ids.map(versions))).toEqual([
        [3, 2],
        [3, 2],
      ]);
      await prune(9);
      expect(await Promise.all(ids.map(versions))).toEqual([[3], [3]]);
    });
  });
}
