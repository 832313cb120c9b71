import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Channel } from '../core/channel.ts';
import type { Round } from '../core/delivery.ts';
import type { Message } from '../core/message.ts';
import { addAgent, claim, endRun, type StoreKit, send, usedBy } from './store.testkit.ts';
import type { Tx } from './store.ts';

/** Channel messages, and whose turn it is to read them. */
export function testChannels({ read, write }: StoreKit): void {
  const addChannel = async (tx: Tx, members: readonly string[], change: Partial<Channel> = {}) => {
    const id = `c-${randomUUID()}`;
    const row = {
      id,
      kind: 'private',
      topic: '',
      pair: null,
      teamOf: null,
      createdAt: 1,
      createdBy: 'user',
    } as const;
    await tx.channels.insertChannel({ ...row, ...change });
    for (const participantId of members) await tx.channels.tryJoinChannel({ channelId: id, participantId });
    return id;
  };
  const say = async (tx: Tx, channelId: string, author: string, change: { thread?: string; text?: string } = {}) => {
    const id = randomUUID();
    await tx.events.appendEvent({
      type: 'channel_created',
      at: 1,
      channelId,
      data: { channelId, by: author },
    });
    await tx.messages.insertMessage({
      id,
      channelId,
      authorId: author,
      runId: null,
      kind: 'message',
      text: change.text ?? 'hello',
      inReplyTo: null,
      late: false,
      chainDepth: 0,
      createdAt: 1,
      threadId: change.thread ?? null,
      trace: null,
      payerId: null,
    });
    const { seq } = (await tx.messages.getMessage({ id })) as Message;
    return { id, seq };
  };
  const give = (tx: Tx, agent: Agent, message: { id: string }, round: Round) =>
    tx.deliveries.insertDelivery({ messageId: message.id, agentId: agent.id, kind: 'news', round });

  describe('a channel', () => {
    test('is visible to its members and, if it is public, to all', async () => {
      const { agent, open, closed } = await write(async (tx) => {
        const one = await addAgent(tx);
        return { agent: one, open: await addChannel(tx, [], { kind: 'public' }), closed: await addChannel(tx, []) };
      });
      const seen = async () =>
        (
          await read((tx) =>
            tx.channels.listChannels({ participantId: agent.id, all: false, after: 'c-', limit: 10_000 }),
          )
        ).map(({ id }) => id);
      const among = async () => {
        const channelIds = [closed, open, 'c-nowhere', closed];
        return (await read((tx) => tx.channels.listSeen({ participantId: agent.id, channelIds })))
          .map(({ id }) => id)
          .sort();
      };
      expect(await seen()).toContain(open);
      expect(await seen()).not.toContain(closed);
      expect(await among()).toEqual([open]);
      expect(await read((tx) => tx.channels.listSeen({ participantId: agent.id, channelIds: [] }))).toEqual([]);
      await write((tx) => tx.channels.tryJoinChannel({ channelId: closed, participantId: agent.id }));
      expect(await seen()).toContain(closed);
      expect(await among()).toEqual([open, closed].sort());
      await write((tx) => tx.channels.tryLeaveChannel({ channelId: closed, participantId: agent.id }));
      expect(await seen()).not.toContain(closed);
      expect(await among()).toEqual([open]);
    });

    test('stores what each member has read, and what wakes it', async () => {
      const { agent, channelId } = await write(async (tx) => {
        const one = await addAgent(tx);
        return { agent: one, channelId: await addChannel(tx, [one.id, 'user']) };
      });
      const view = () => read((tx) => tx.channels.getChannelView({ id: channelId, participantId: agent.id }));
      const [, second] = await write(async (tx) => [
        await say(tx, channelId, 'user'),
        await say(tx, channelId, 'user'),
        await say(tx, channelId, agent.id),
      ]);
      expect(await view()).toMatchObject({ unread: 2, readSeq: 0 });
      const p = { channelId, participantId: agent.id };
      await write((tx) => tx.channels.raiseRead({ ...p, seq: second?.seq ?? 0 }));
      await write((tx) => tx.channels.raiseRead({ ...p, seq: 1 }));
      expect(await view()).toMatchObject({ unread: 0, readSeq: second?.seq });
      await write((tx) => tx.channels.trySetWake({ ...p, wake: 'none' }));
      expect(await read((tx) => tx.channels.getMember(p))).toMatchObject({ wake: 'none', position: 1 });
      await write((tx) => tx.channels.setTopic({ id: channelId, topic: 'tea' }));
      expect(await read((tx) => tx.channels.listMemberships({ participantId: agent.id }))).toContainEqual({
        channelId: expect.any(String),
      });
      expect(await read((tx) => tx.channels.listJoined({ participantId: agent.id, limit: 9 }))).toMatchObject([
        { id: channelId, topic: 'tea' },
      ]);
      const known = await read((tx) =>
        tx.participants.listAcquaintances({ participantId: agent.id, after: '', limit: 9 }),
      );
      expect(known.map(({ id }) => id).sort()).toEqual([agent.id, 'user'].sort());
    });
  });

  describe('a message', () => {
    test('can start a thread, be edited, deleted and reacted to', async () => {
      const { agent, channelId } = await write(async (tx) => {
        const one = await addAgent(tx);
        return { agent: one, channelId: await addChannel(tx, [one.id]) };
      });
      const first = await write((tx) => say(tx, channelId, 'user'));
      const inThread = await write((tx) => say(tx, channelId, agent.id, { thread: first.id }));
      await write((tx) => say(tx, channelId, 'user'));
      const page = { before: Number.MAX_SAFE_INTEGER, limit: 9 };
      const thread = await read((tx) => tx.messages.listThreadMessages({ id: first.id, ...page }));
      expect(thread.map(({ id }) => id)).toEqual([inThread.id, first.id]);

      await write((tx) => tx.messages.editMessage({ id: first.id, text: 'hi', at: 5 }));
      expect(await read((tx) => tx.messages.getMessage({ id: first.id }))).toMatchObject({ text: 'hi', editedAt: 5 });
      const said = () => read((tx) => tx.messages.listSaid({ channelId, readerId: agent.id, after: 0, limit: 9 }));
      expect(await said()).toHaveLength(2);
      await write((tx) => tx.messages.deleteMessage({ id: first.id, at: 6 }));
      expect(await said()).toHaveLength(1);
      expect(await read((tx) => tx.messages.getMessage({ id: first.id }))).toMatchObject({ text: '', deletedAt: 6 });

      const reaction = { messageId: inThread.id, emoji: '👍', participantId: 'user' };
      expect(await write((tx) => tx.messages.tryAddReaction({ ...reaction, at: 1 }))).toBe(true);
      expect(await write((tx) => tx.messages.tryAddReaction({ ...reaction, at: 2 }))).toBe(false);
      const reactions = () => read((tx) => tx.messages.listReactions({ messageIds: [first.id, inThread.id] }));
      expect(await reactions()).toEqual([{ messageId: inThread.id, emoji: '👍', handle: 'user' }]);
      expect(await write((tx) => tx.messages.tryRemoveReaction(reaction))).toBe(true);
      expect(await reactions()).toEqual([]);
      expect(await read((tx) => tx.messages.listReactions({ messageIds: [] }))).toEqual([]);
    });
  });

  describe('the turns of a channel', () => {
    const setUp = () =>
      write(async (tx) => {
        const one = await addAgent(tx);
        const two = await addAgent(tx, { parent: one });
        const channelId = await addChannel(tx, [one.id, two.id]);
        const message = await say(tx, channelId, 'user');
        for (const agent of [one, two]) {
          await tx.rounds.queuePlace({ channelId, agentId: agent.id });
          await give(tx, agent, message, 'held');
        }
        return { one, two, channelId, message };
      });

    test('hold back deliveries until the turn, which wakes even an agent that waits for a reply', async () => {
      const { one, two, channelId } = await setUp();
      const pending = () => read((tx) => tx.deliveries.listPending({ agentId: one.id, limit: 9 }));
      expect(await pending()).toEqual([]);
      await write((tx) => send(tx, { to: two, from: one.id, kind: 'request' }));
      await write((tx) => tx.runs.wakeAgent({ agentId: one.id, now: 1 }));
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: one.id }))).toBeNull();

      await write((tx) => tx.rounds.releasePlace({ channelId, agentId: one.id, now: 7 }));
      expect(await pending()).toMatchObject([{ channelId, channelKind: 'private' }]);
      await write((tx) => tx.runs.wakeAgent({ agentId: one.id, now: 1 }));
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: one.id }))).toMatchObject({ state: 'created' });
      expect(await read((tx) => tx.rounds.getOldestRelease())).toEqual(expect.any(Number));
      const stale = await read((tx) => tx.rounds.listStalePlaces({ before: 7 }));
      expect(stale.filter((turn) => turn.channelId === channelId)).toMatchObject([{ agentId: one.id }]);
      expect(await write((tx) => tx.rounds.tryPassPlace({ channelId, agentId: one.id }))).toBe(true);
      expect(await write((tx) => tx.rounds.tryPassPlace({ channelId, agentId: two.id }))).toBe(false);
    });

    test('are in order, a second turn is at the end, and report what is left', async () => {
      const { one, two, channelId, message } = await setUp();
      const order = async () =>
        (await read((tx) => tx.rounds.listPlaces({ channelId, now: 1 }))).map(({ agentId }) => agentId);
      expect(await order()).toEqual([one.id, two.id]);
      await write((tx) => tx.rounds.queuePlace({ channelId, agentId: one.id }));
      expect(await order()).toEqual([two.id, one.id]);

      const left = (agent: Agent) => read((tx) => tx.rounds.leftInPlace({ channelId, agentId: agent.id }));
      expect(await left(two)).toBe('held');
      await write((tx) => tx.rounds.releasePlace({ channelId, agentId: two.id, now: 1 }));
      expect(await left(two)).toBe('open');
      expect(await read((tx) => tx.rounds.getPlace({ channelId, agentId: two.id }))).toMatchObject({
        state: 'released',
      });
      await write((tx) => tx.runs.wakeAgent({ agentId: two.id, now: 1 }));
      const run = await write((tx) => claim(tx, two.nodeId));
      await write((tx) =>
        tx.deliveries.injectDelivery({ messageId: message.id, agentId: two.id, runId: run?.id ?? '' }),
      );
      expect(await left(two)).toBe('carried');
      expect(await read((tx) => tx.rounds.listPlaces({ channelId, now: 1 }))).toMatchObject([
        { running: 1 },
        { running: 0 },
      ]);
      await write((tx) => tx.deliveries.endCarried({ runId: run?.id ?? '', state: 'acknowledged' }));
      expect(await left(two)).toBeNull();
      await write((tx) => tx.rounds.tryDeletePlace({ channelId, agentId: two.id }));
      expect(await read((tx) => tx.rounds.listPlacesOf({ agentId: two.id }))).toEqual([]);
    });

    test('stop while nobody can run, and report when somebody can', async () => {
      const { one, two, channelId } = await setUp();
      for (const { id } of [one, two]) await write((tx) => tx.agents.restAgent({ id, until: 500, rests: 1 }));
      const stalled = async (now: number) =>
        (await read((tx) => tx.rounds.listStalledRounds({ now }))).some((round) => round.channelId === channelId);
      const able = async (now: number) =>
        (await read((tx) => tx.rounds.listPlaces({ channelId, now }))).map((turn) => turn.able);
      expect([await stalled(499), await able(499)]).toEqual([false, [false, false]]);
      expect(await read((tx) => tx.rounds.getNextRested({ now: 499 }))).toBeLessThanOrEqual(500);
      expect([await stalled(500), await able(500)]).toEqual([true, [true, true]]);
      await write((tx) => tx.rounds.releasePlace({ channelId, agentId: two.id, now: 500 }));
      expect(await stalled(500)).toBe(false);
    });

    test('end with the message, the membership or the agent', async () => {
      const { one, two, channelId, message } = await setUp();
      const recipients = async () =>
        (await read((tx) => tx.deliveries.listPendingRecipients({ messageId: message.id }))).map(
          ({ agentId }) => agentId,
        );
      expect((await recipients()).sort()).toEqual([one.id, two.id].sort());
      await write((tx) => tx.deliveries.killDeliveriesIn({ agentId: one.id, channelId }));
      expect(await recipients()).toEqual([two.id]);
      expect(await write((tx) => tx.deliveries.killDeliveriesTo({ agentId: two.id }))).toBe(1);
      expect(await recipients()).toEqual([]);
    });
  });

  test('usage is summed by agent, tree and day', async () => {
    const [lead, worker] = await write(async (tx) => {
      const root = await addAgent(tx);
      return [root, await addAgent(tx, { parent: root })];
    });
    for (const [agent, day] of [
      [lead, 20_000],
      [worker, 20_000],
      [worker, 20_001],
    ] as const) {
      await write(async (tx) => {
        const { id: agentId, treeId, nodeId } = agent;
        const place = { agentId, treeId, nodeId, incarnation: 'i', now: day * 86_400_000 + 5 };
        const run = await tx.runs.insertOpenRun(place);
        await tx.runs.setUsage(usedBy(run, { inputTokens: 10, outputTokens: 1, costUsd: 0.5 }));
        await endRun(tx, run);
      });
    }
    const sums = async (by: 'agent' | 'tree' | 'day') => {
      const window = { since: 20_000 * 86_400_000, until: 20_002 * 86_400_000, limit: 9 };
      const rows = await read((tx) => tx.runs.listUsage({ by, ...window }));
      expect(rows.map(({ grade }) => grade)).toEqual(rows.map(() => 'reported'));
      return rows.map(({ key, runs, inputTokens, outputTokens, costUsd }) => [
        key,
        runs,
        inputTokens,
        outputTokens,
        costUsd,
      ]);
    };
    expect(await sums('agent')).toEqual([
      [worker.handle, 2, 20, 2, 1],
      [lead.handle, 1, 10, 1, 0.5],
    ]);
    expect(await sums('tree')).toEqual([[lead.handle, 3, 30, 3, 1.5]]);
    expect(await sums('day')).toEqual([
      ['20001', 1, 10, 1, 0.5],
      ['20000', 2, 20, 2, 1],
    ]);
  });

  test('a return finds its call', async () => {
    const record = { step: 1, attempt: 1, callKey: null, isError: false, effect: false, createdAt: 1, tool: 'x' };
    const runId = await write(async (tx) => {
      const agent = await addAgent(tx);
      const run = await tx.runs.insertOpenRun({
        agentId: agent.id,
        treeId: agent.treeId,
        nodeId: agent.nodeId,
        incarnation: 'i',
        now: 1,
      });
      const entry = { ...record, runId: run.id, callId: 'c' };
      await tx.records.insertRecord({ ...entry, type: 'tool_call_message', content: '1' });
      await tx.records.insertRecord({ ...entry, type: 'tool_return_message', content: '2' });
      return run.id;
    });
    expect(await read((tx) => tx.records.getCall({ runId, callId: 'c' }))).toMatchObject({ content: '1' });
    expect(await read((tx) => tx.records.getCall({ runId, callId: 'none' }))).toBeNull();
  });
}
