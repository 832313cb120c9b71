import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Delivery } from '../core/delivery.ts';
import { addAgent, answer, type StoreKit, send, startRun } from './store.testkit.ts';

export function testDeliveries({ read, write }: StoreKit): void {
  const addPair = () =>
    write(async (tx) => {
      const lead = await addAgent(tx);
      return { lead, worker: await addAgent(tx, { parent: lead }) };
    });
  const pendingOf = async ({ id }: Agent) =>
    (await read((tx) => tx.deliveries.listPending({ agentId: id, limit: 100 }))).map(({ messageId }) => messageId);

  describe('listPending()', () => {
    test('returns pending deliveries in order, up to a limit', async () => {
      const { lead, worker } = await addPair();
      const [news, request, more] = await write(async (tx) => [
        await send(tx, { to: worker, from: lead.id }),
        await send(tx, { to: worker, kind: 'request' }),
        await send(tx, { to: worker, from: lead.id }),
        await send(tx, { to: lead }),
      ]);
      expect(await pendingOf(worker)).toEqual([news, request, more]);
      expect(await read((tx) => tx.deliveries.listPending({ agentId: worker.id, limit: 2 }))).toHaveLength(2);
      const heads = await read((tx) => tx.deliveries.listPendingHeads({ agentId: worker.id, limit: 2 }));
      expect(heads).toEqual([
        { authorId: lead.id, deliveryKind: 'news' },
        { authorId: 'user', deliveryKind: 'request' },
      ]);
      const sizes = await read((tx) => tx.deliveries.listPendingSizes({ agentId: worker.id, limit: 2 }));
      const texts = await read((tx) => tx.deliveries.listPending({ agentId: worker.id, limit: 2 }));
      expect(sizes.map(({ messageId, size }) => [messageId, size])).toEqual(
        texts.map(({ messageId, text }) => [messageId, text.length]),
      );
    });

    test('includes the author, the trace, and whether the request is open', async () => {
      const { lead, worker } = await addPair();
      const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const id = await write((tx) => send(tx, { to: worker, from: lead.id, kind: 'request', text: 'Why?', trace }));
      expect((await read((tx) => tx.messages.getMessage({ id })))?.trace).toBe(trace);
      const view = async () => (await read((tx) => tx.deliveries.listPending({ agentId: worker.id, limit: 1 })))[0];
      expect(await view()).toEqual({
        messageId: id,
        seq: expect.any(Number),
        state: 'pending',
        deliveryKind: 'request',
        kind: 'message',
        channelId: `in-${worker.id}`,
        channelKind: 'dm',
        teamOf: null,
        threadId: null,
        authorId: lead.id,
        text: 'Why?',
        trace,
        payerId: null,
        broadcast: null,
        cause: null,
        inReplyTo: null,
        late: false,
        chainDepth: 0,
        authorKind: 'agent',
        authorHandle: lead.handle,
        authorName: lead.name,
        requestState: 'open',
        parentRequest: null,
      });
      await write((tx) => tx.requests.tryCloseRequest({ id, at: 1 }));
      expect(await view()).toMatchObject({ requestState: 'closed' });
    });

    test('includes for a reply what its question was asked for, while that is open', async () => {
      const { lead, worker } = await addPair();
      const parent = await write(async (tx) => {
        const served = await send(tx, { to: lead, kind: 'request' });
        const child = await send(tx, { to: worker, from: lead.id, kind: 'request', parent: served });
        await answer(tx, child, lead, worker);
        return served;
      });
      const reply = async () => (await read((tx) => tx.deliveries.listPending({ agentId: lead.id, limit: 9 })))[1];
      expect(await reply()).toMatchObject({ deliveryKind: 'reply', kind: 'reply', parentRequest: parent });
      await write((tx) => tx.requests.tryCloseRequest({ id: parent, at: 1 }));
      expect(await reply()).toMatchObject({ parentRequest: null });
    });
  });

  describe('what a run carries', () => {
    const inject = async () => {
      const { lead, worker } = await addPair();
      const { run, request, news } = await write(async (tx) => {
        const started = await startRun(tx, worker);
        const [first] = await tx.deliveries.listPending({ agentId: worker.id, limit: 1 });
        return {
          run: started,
          request: first?.messageId as string,
          news: await send(tx, { to: worker, text: 'news' }),
        };
      });
      const change = { messageId: news, agentId: worker.id, runId: run.id };
      const stateOf = async (id: string): Promise<Delivery['state'] | undefined> =>
        (await read((tx) => tx.deliveries.listDeliveriesOfRun({ runId: run.id }))).find(
          ({ messageId }) => messageId === id,
        )?.state;
      await write(async (tx) => {
        await tx.deliveries.injectDelivery({ ...change, messageId: request });
        await tx.deliveries.injectDelivery(change);
      });
      return { lead, worker, run, request, news, change, stateOf };
    };

    test('is no longer pending, is listed in order and is injected once', async () => {
      const { worker, run, request, news, change } = await inject();
      expect(await pendingOf(worker)).toEqual([]);
      const carried = await read((tx) => tx.deliveries.listCarried({ runId: run.id }));
      expect(carried.map(({ messageId, state }) => [messageId, state])).toEqual([
        [request, 'injected'],
        [news, 'injected'],
      ]);
      await expect(write((tx) => tx.deliveries.injectDelivery({ ...change, runId: 'another' }))).rejects.toMatchObject({
        code: 'not_found',
      });
    });

    test('is listed with whole texts, with their beginnings, or without', async () => {
      const { run } = await inject();
      const [whole, heads, cut] = await read(
        async (tx) =>
          [
            await tx.deliveries.listDeliveriesOfRun({ runId: run.id }),
            await tx.deliveries.listHeadsOfRun({ runId: run.id }),
            await tx.deliveries.listExcerptsOfRun({ runId: run.id, longest: 2 }),
          ] as const,
      );
      expect(whole.map(({ text }) => text)).toEqual(['', 'news']);
      expect(cut).toEqual(whole.map((one) => ({ ...one, text: one.text.slice(0, 2) })));
      expect(heads).toEqual(whole.map(({ text: _, ...head }) => head));
    });

    test('has its authors listed', async () => {
      const { lead, run } = await inject();
      expect(await read((tx) => tx.deliveries.isCarrying({ runId: run.id, authorId: 'user' }))).toBe(true);
      expect(await read((tx) => tx.deliveries.isCarrying({ runId: run.id, authorId: lead.id }))).toBe(false);
      await write((tx) => tx.deliveries.endCarried({ runId: run.id, state: 'acknowledged' }));
      expect(await read((tx) => tx.deliveries.isCarrying({ runId: run.id, authorId: 'user' }))).toBe(false);
    });

    test.each(['acknowledged', 'dead'] as const)('ends together as %s, and stays so', async (state) => {
      const { worker, run, request, news, change, stateOf } = await inject();
      await write((tx) => tx.deliveries.endCarried({ runId: run.id, state }));
      expect([await stateOf(request), await stateOf(news)]).toEqual([state, state]);
      expect(await read((tx) => tx.deliveries.listCarried({ runId: run.id }))).toEqual([]);
      await write(async (tx) => {
        await tx.deliveries.endCarried({ runId: run.id, state: 'dead' });
        expect(await tx.deliveries.killDeliveriesTo({ agentId: worker.id })).toBe(0);
      });
      for (const again of ['acknowledgeDelivery', 'returnDelivery'] as const) {
        await expect(write((tx) => tx.deliveries[again](change))).rejects.toMatchObject({ code: 'not_found' });
      }
      expect(await stateOf(news)).toBe(state);
    });

    test('can be acknowledged or returned individually', async () => {
      const { worker, run, request, news, change, stateOf } = await inject();
      await write((tx) => tx.deliveries.acknowledgeDelivery({ ...change, messageId: request }));
      await write((tx) => tx.deliveries.returnDelivery(change));
      expect(await stateOf(request)).toBe('acknowledged');
      expect(await stateOf(news)).toBeUndefined();
      expect(await pendingOf(worker)).toEqual([news]);
      await write((tx) => tx.deliveries.endCarried({ runId: run.id, state: 'dead' }));
      expect(await pendingOf(worker)).toEqual([news]);
    });

    test('is not killed together with pending deliveries', async () => {
      const { worker, news, stateOf } = await inject();
      const pending = await write((tx) => send(tx, { to: worker }));
      expect(await write((tx) => tx.deliveries.killPendingDelivery({ messageId: news }))).toBe(0);
      expect(await write((tx) => tx.deliveries.killPendingDelivery({ messageId: pending }))).toBe(1);
      expect(await stateOf(news)).toBe('injected');
      expect(await pendingOf(worker)).toEqual([]);
    });

    test('dies with all deliveries to the agent, and with no others', async () => {
      const { lead, worker, request, news, stateOf } = await inject();
      const mine = await write(async (tx) => {
        await send(tx, { to: worker });
        return send(tx, { to: lead });
      });
      expect(await write((tx) => tx.deliveries.killDeliveriesTo({ agentId: worker.id }))).toBe(3);
      expect([await stateOf(request), await stateOf(news)]).toEqual(['dead', 'dead']);
      expect(await pendingOf(worker)).toEqual([]);
      expect(await pendingOf(lead)).toEqual([mine]);
    });
  });

  test('a pending delivery can be acknowledged directly', async () => {
    const { worker } = await addPair();
    const messageId = await write((tx) => send(tx, { to: worker, kind: 'request' }));
    await write((tx) => tx.deliveries.acknowledgeDelivery({ messageId, agentId: worker.id }));
    expect(await pendingOf(worker)).toEqual([]);
  });

  test('a message is delivered to an agent once', async () => {
    const { worker } = await addPair();
    const messageId = await write((tx) => send(tx, { to: worker }));
    const twice = write((tx) =>
      tx.deliveries.insertDelivery({ messageId, agentId: worker.id, kind: 'news', round: 'free' }),
    );
    await expect(twice).rejects.toThrow(/unique/i);
  });
}
