import { describe, expect, test } from 'vitest';
import { addAgent, answer, type StoreKit, send, startRun } from './store.testkit.ts';

export function testRequests({ read, write, openAnother }: StoreKit): void {
  const addPair = () =>
    write(async (tx) => {
      const lead = await addAgent(tx);
      return { lead, worker: await addAgent(tx, { parent: lead }) };
    });

  describe('messages', () => {
    test('are returned as stored, whatever their text', async () => {
      const { worker } = await addPair();
      const text = `'; drop table messages; -- "\\\n\r\t\u0001\u2028 Ünïcödé 👩‍👩‍👧 ${'x'.repeat(1_000_000)}`;
      const id = await write((tx) => send(tx, { to: worker, text }));
      const message = await read((tx) => tx.messages.getMessage({ id }));
      expect(message?.text === text).toBe(true);
      expect(message).toMatchObject({ kind: 'message', authorId: 'user', inReplyTo: null, late: false, runId: null });
      expect(await read((tx) => tx.messages.getMessage({ id: 'none' }))).toBeNull();
    });

    test('replies are listed in order, with the handle of their author', async () => {
      const { lead, worker } = await addPair();
      const [request, ...replies] = await write(async (tx) => {
        const id = await send(tx, { to: worker, from: lead.id, kind: 'request' });
        const reply = { to: lead, from: worker.id, kind: 'news', inReplyTo: id } as const;
        return [id, await send(tx, reply), await send(tx, reply)];
      });
      const found = await read((tx) => tx.messages.listReplies({ id: request as string }));
      expect(found.map(({ id, handle }) => [id, handle])).toEqual(replies.map((id) => [id, worker.handle]));
    });
  });

  test('open requests between two agents are listed in order', async () => {
    const { lead, worker } = await addPair();
    const [first, second] = await write(async (tx) => {
      const request = { to: worker, from: lead.id, kind: 'request' } as const;
      return [await send(tx, request), await send(tx, request), await send(tx, { to: worker, kind: 'request' })];
    });
    const open = async () =>
      (await read((tx) => tx.requests.listOpenRequestsBetween({ askerId: lead.id, recipientId: worker.id }))).map(
        ({ messageId }) => messageId,
      );
    expect(await open()).toEqual([first, second]);
    await write((tx) => tx.requests.tryCloseRequest({ id: first as string, at: 1 }));
    expect(await open()).toEqual([second]);
  });

  describe('broadcasts', () => {
    test('collect replies, and are closed once', async () => {
      const { lead, worker } = await addPair();
      const other = await write((tx) => addAgent(tx, { parent: lead, name: 'aaa' }));
      const { id, reply } = await write(async (tx) => {
        const message = await send(tx, { to: worker, from: other.id });
        const broadcast = { messageId: message, authorId: other.id, quiet: false, closesAt: 500 };
        await tx.broadcasts.insertBroadcast(broadcast);
        const answering = {
          to: other,
          from: worker.id,
          messageKind: 'reply',
          inReplyTo: message,
          round: 'held',
        } as const;
        return { id: message, reply: await send(tx, answering) };
      });
      const open = () => read((tx) => tx.broadcasts.listOpenBroadcastsTo({ agentId: worker.id }));
      const due = async (now: number) =>
        (await read((tx) => tx.broadcasts.listDueBroadcasts({ now }))).some(({ messageId }) => messageId === id);
      expect(await open()).toMatchObject([{ messageId: id, closedAt: null }]);
      expect([await due(499), await due(500)]).toEqual([false, true]);
      expect(await read((tx) => tx.broadcasts.getNextBroadcastEnd())).toBeLessThanOrEqual(500);
      expect(await read((tx) => tx.broadcasts.listRespondents({ id }))).toEqual([
        { agentId: worker.id, name: worker.name, provider: worker.provider, state: 'pending', live: 0, replies: 1 },
      ]);
      const [delivery] = await read((tx) => tx.deliveries.listPending({ agentId: worker.id, limit: 9 }));
      expect(delivery?.broadcast).toBe(id);

      const pending = async () =>
        (await read((tx) => tx.deliveries.listPending({ agentId: other.id, limit: 9 }))).map(
          ({ messageId }) => messageId,
        );
      expect(await pending()).toEqual([]);
      await write((tx) => tx.broadcasts.releaseReplies({ id, agentId: other.id, round: 'quiet' }));
      expect(await pending()).toEqual([reply]);
      // Quiet: it wakes nobody.
      await write((tx) => tx.runs.wakeAgent({ agentId: other.id, now: 0 }));
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: other.id }))).toBeNull();
      expect(await write((tx) => tx.broadcasts.tryCloseBroadcast({ id, at: 7 }))).toMatchObject({ closedAt: 7 });
      expect(await write((tx) => tx.broadcasts.tryCloseBroadcast({ id, at: 8 }))).toBeNull();
      expect(await open()).toEqual([]);
      expect(await read((tx) => tx.broadcasts.getBroadcast({ id }))).toMatchObject({ quiet: false, closedAt: 7 });
    });

    test('record what a run said where, and which tools it called', async () => {
      const { worker } = await addPair();
      const run = await write((tx) => startRun(tx, worker));
      const channelId = `in-${worker.id}`;
      expect(await read((tx) => tx.broadcasts.hasSpoken({ runId: run.id, channelId }))).toBe(false);
      expect(await read((tx) => tx.records.countReturns({ runId: run.id, tool: 'do_nothing' }))).toBe(0);
    });
  });

  describe('closeRequest()', () => {
    test('only one of many concurrent calls wins', async () => {
      const { lead, worker } = await addPair();
      const id = await write((tx) => send(tx, { to: worker, from: lead.id, kind: 'request' }));
      const other = await openAnother();
      const closers = [1, 2, 3, 4, 5, 6].map((at) =>
        at % 2 === 0
          ? write((tx) => tx.requests.tryCloseRequest({ id, at }))
          : other.write((tx) => tx.requests.tryCloseRequest({ id, at })),
      );
      const won = (await Promise.all(closers)).filter((request) => request !== null);
      expect(won).toHaveLength(1);
      const closed = await read((tx) => tx.requests.getRequest({ id }));
      expect(closed).toMatchObject({ state: 'closed', askerId: lead.id, recipientId: worker.id, replyId: null });
      expect(closed).toEqual(won[0]);
    });

    test('returns null for a message that is not a request', async () => {
      const { worker } = await addPair();
      const id = await write((tx) => send(tx, { to: worker }));
      expect(await write((tx) => tx.requests.tryCloseRequest({ id, at: 1 }))).toBeNull();
      await expect(write((tx) => tx.requests.closeRequest({ id, at: 1 }))).rejects.toMatchObject({ code: 'not_found' });
      expect(await read((tx) => tx.requests.getRequest({ id }))).toBeNull();
    });

    test('is rolled back with its writer', async () => {
      const { worker } = await addPair();
      const id = await write((tx) => send(tx, { to: worker, kind: 'request' }));
      const failing = write(async (tx) => {
        await tx.requests.tryCloseRequest({ id, at: 1 });
        throw new Error('no reply after all');
      });
      await expect(failing).rejects.toThrow('no reply after all');
      expect(await write((tx) => tx.requests.tryCloseRequest({ id, at: 2 }))).toMatchObject({ closedAt: 2 });
    });
  });

  test('setRequestReply() stores the reply', async () => {
    const { lead, worker } = await addPair();
    const { id, reply } = await write(async (tx) => {
      const request = await send(tx, { to: worker, from: lead.id, kind: 'request' });
      return { id: request, reply: await answer(tx, request, lead, worker) };
    });
    expect(await read((tx) => tx.requests.getRequest({ id }))).toMatchObject({ state: 'closed', replyId: reply });
  });

  describe('countOpenChildren()', () => {
    const ask = async () => {
      const { lead, worker } = await addPair();
      const parent = await write((tx) => send(tx, { to: lead, kind: 'request' }));
      const child = await write((tx) => send(tx, { to: worker, from: lead.id, kind: 'request', parent }));
      const count = () => read((tx) => tx.requests.countOpenChildren({ id: parent, askerId: lead.id }));
      return { lead, worker, parent, child, count };
    };

    test('counts a child until its reply has reached the asker', async () => {
      const { lead, worker, child, count } = await ask();
      expect(await count()).toBe(1);
      const messageId = await write((tx) => answer(tx, child, lead, worker));
      expect(await count()).toBe(1);
      await write((tx) => tx.deliveries.injectDelivery({ messageId, agentId: lead.id, runId: 'r' }));
      expect(await count()).toBe(0);
    });

    test('does not count a child that was closed without a reply', async () => {
      const { child, count } = await ask();
      await write((tx) => tx.requests.tryCloseRequest({ id: child, at: 1 }));
      expect(await count()).toBe(0);
    });

    test('counts only what this agent asked for this request', async () => {
      const { lead, worker, parent, count } = await ask();
      await write(async (tx) => {
        await send(tx, { to: worker, from: lead.id, kind: 'request' });
        await send(tx, { to: lead, from: worker.id, kind: 'request', parent });
      });
      expect(await count()).toBe(1);
    });
  });

  test('open requests are listed by asker and by recipient, in order', async () => {
    const { lead, worker } = await addPair();
    const [closed, ...open] = await write(async (tx) => {
      const request = { to: worker, from: lead.id, kind: 'request' } as const;
      return [await send(tx, request), await send(tx, request), await send(tx, request)];
    });
    await write((tx) => tx.requests.tryCloseRequest({ id: closed as string, at: 1 }));
    const waiting = await read((tx) => tx.requests.listOpenRequests({ after: 0, limit: 1000 }));
    expect(waiting.filter(({ from }) => from === lead.handle).length).toBeGreaterThan(0);
    const from = await read((tx) => tx.requests.listOpenRequestsFrom({ askerId: lead.id }));
    expect(from.map(({ messageId }) => messageId)).toEqual(open);
    expect(await read((tx) => tx.requests.listOpenRequestsTo({ recipientId: worker.id }))).toEqual(from);
    expect(await read((tx) => tx.requests.listOpenRequestsTo({ recipientId: lead.id }))).toEqual([]);
  });

  test('deadlines: earliest first, none for a request without one or a closed one', async () => {
    const { worker } = await addPair();
    const [late, early, , closed] = await write(async (tx) => {
      const request = { to: worker, kind: 'request' } as const;
      return [
        await send(tx, { ...request, deadlineAt: 20 }),
        await send(tx, { ...request, deadlineAt: 10 }),
        await send(tx, request),
        await send(tx, { ...request, deadlineAt: 5 }),
      ];
    });
    await write((tx) => tx.requests.tryCloseRequest({ id: closed as string, at: 1 }));
    const overdue = async (now: number, limit = 9) =>
      (await read((tx) => tx.requests.listOverdueRequests({ now, limit }))).map(({ messageId }) => messageId);
    expect(await read((tx) => tx.requests.getNextDeadline())).toBe(10);
    expect(await overdue(9)).toEqual([]);
    expect(await overdue(10)).toEqual([early]);
    expect(await overdue(20)).toEqual([early, late]);
    expect(await overdue(20, 1)).toEqual([early]);
    await write(async (tx) => {
      for (const id of [late, early]) await tx.requests.tryCloseRequest({ id: id as string, at: 1 });
    });
    expect(await read((tx) => tx.requests.getNextDeadline())).toBe(null);
  });
}
