import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { type Question, settled, UNSETTLED } from '../core/question.ts';
import { addAgent, type StoreKit, send } from './store.testkit.ts';
import type { Tx } from './store.ts';

/** Inserts a question of the agent; its request is one to the agent, which makes no difference here. */
export async function addQuestion(tx: Tx, agent: Agent, change: Partial<Question> = {}, parent?: string) {
  const id = await send(tx, { to: agent, kind: 'request', ...(parent && { parent }) });
  const question: Question = {
    id,
    agentId: agent.id,
    treeId: agent.treeId,
    kind: 'approval',
    subject: 'May I?',
    details: null,
    options: ['yes', 'no'],
    tool: 'pay',
    args: { to: 'ö' },
    digest: 'd',
    blocking: true,
    answerers: ['user'],
    createdAt: 5,
    ...UNSETTLED,
    tellAt: null,
    ...change,
  };
  await tx.questions.insertQuestion(question);
  return question;
}

export function testQuestions({ read, write }: StoreKit): void {
  const page = { open: true, before: 2 ** 50, limit: 10 };

  describe('questions', () => {
    test('are open until the first outcome, one per agent and digest', async () => {
      const agent = await write((tx) => addAgent(tx));
      const question = await write((tx) => addQuestion(tx, agent));
      const { id, agentId, treeId, digest } = question;
      expect(await read((tx) => tx.questions.getQuestion({ id }))).toEqual(question);
      expect(await read((tx) => tx.questions.getOpenQuestion({ agentId, digest }))).toEqual(question);
      await expect(write((tx) => addQuestion(tx, agent))).rejects.toThrow();
      await write((tx) => addQuestion(tx, agent, { digest: 'other' }));
      expect(await read((tx) => tx.questions.countOpenQuestions({ agentId }))).toBe(2);
      expect(await read((tx) => tx.questions.countOpenInTree({ treeId }))).toBe(2);
      const rejected = settled('rejected', { note: 'no', settledBy: 'user', settledWith: 't' });
      expect(await write((tx) => tx.questions.trySettle({ ...rejected, id, at: 9 }))).toBe(true);
      expect(await write((tx) => tx.questions.trySettle({ ...settled('expired'), id, at: 10 }))).toBe(false);
      const [found] = await read((tx) => tx.questions.listRejections({ agentId, digest }));
      expect(found).toEqual({ ...question, ...rejected, settledAt: 9 });
      expect(await read((tx) => tx.questions.getOpenQuestion({ agentId, digest }))).toBeNull();
      await write((tx) => addQuestion(tx, agent));
    });

    test('are listed with their agent, for those who may answer, newest first', async () => {
      const agent = await write((tx) => addAgent(tx));
      const parent = await write((tx) => send(tx, { to: agent, kind: 'request' }));
      const [a, b] = await write(async (tx) => [
        await addQuestion(tx, agent, { answerers: [agent.id] }, parent),
        await addQuestion(tx, agent, { digest: 'b', answerers: ['user', agent.id] }),
      ]);
      const listed = await read((tx) => tx.questions.listQuestions({ ...page, participantId: agent.id }));
      expect(listed.map(({ id }) => id)).toEqual([b?.id, a?.id]);
      expect(listed[1]).toMatchObject({ handle: agent.handle, channelId: `in-${agent.id}`, parentId: parent });
      await write((tx) =>
        tx.questions.trySettle({ ...settled('answered', { settledBy: 'user' }), id: b?.id ?? '', at: 1 }),
      );
      const open = await read((tx) => tx.questions.listQuestions({ ...page, participantId: agent.id }));
      expect(open.map(({ id }) => id)).toEqual([a?.id]);
      expect(await read((tx) => tx.questions.getQuestionView({ id: b?.id ?? '' }))).toMatchObject({
        settledByHandle: 'user',
      });
      const under = await read((tx) => tx.questions.listOpenUnder({ parentId: parent, agentId: agent.id }));
      expect(under).toEqual([a]);
      const all = await read((tx) => tx.questions.listQuestions({ ...page, participantId: null, open: false }));
      expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([a?.id, b?.id]));
    });

    test('grant one call until a time, unless the grant is dropped', async () => {
      const agent = await write((tx) => addAgent(tx));
      const grant = { grantDigest: 'd', grantUntil: 100 };
      const settledOne = { outcome: 'approved', settledAt: 1, settledBy: 'user', ...grant } as const;
      const by = ['user'];
      await write((tx) => addQuestion(tx, agent, settledOne));
      const use = (now: number, digest = 'd') =>
        write((tx) => tx.questions.tryUseGrant({ agentId: agent.id, digest, by, now }));
      const others = { agentId: agent.id, digest: 'd', by: ['person-ann'], now: 99 };
      expect(await write((tx) => tx.questions.tryUseGrant(others))).toBe(false);
      expect(await use(100)).toBe(false);
      expect(await use(99, 'e')).toBe(false);
      const has = (now: number) => read((tx) => tx.questions.hasGrant({ agentId: agent.id, digest: 'd', by, now }));
      expect([await has(99), await has(100)]).toEqual([true, false]);
      expect(await use(99)).toBe(true);
      expect(await use(99)).toBe(false);
      await write((tx) => addQuestion(tx, agent, settledOne));
      expect(await write((tx) => tx.questions.dropGrants({ agentId: agent.id }))).toBe(1);
      expect(await use(99)).toBe(false);
    });

    test('are told until every target has accepted, by one teller at a time, while they are open', async () => {
      const agent = await write((tx) => addAgent(tx));
      const { id } = await write((tx) => addQuestion(tx, agent, { tellAt: 5 }));
      const untold = async (now: number) =>
        (await read((tx) => tx.questions.listUntold({ now, limit: 1000 }))).filter((one) => one.id === id).length;
      expect([await untold(4), await untold(5)]).toEqual([0, 1]);
      expect(await read((tx) => tx.questions.getNextTelling())).toBe(5);
      const claim = () => write((tx) => tx.questions.tryClaimTelling({ id, seen: 5, until: 60 }));
      expect([await claim(), await claim()]).toEqual([true, false]);
      await write((tx) => tx.questions.setTold({ id, told: ['ntfy'], tellAt: 20 }));
      expect(await read((tx) => tx.questions.getQuestion({ id }))).toMatchObject({ told: ['ntfy'], tellAt: 20 });
      await write((tx) => tx.questions.trySettle({ ...settled('answered'), id, at: 6 }));
      expect(await untold(100)).toBe(0);
      await expect(write((tx) => tx.questions.setTold({ id: 'none', told: [], tellAt: 1 }))).rejects.toThrow();
    });

    test('know whether a person has written since', async () => {
      const agent = await write((tx) => addAgent(tx));
      const hasHeard = (after: number) => read((tx) => tx.questions.hasHeard({ agentId: agent.id, after }));
      expect(await hasHeard(-1)).toBe(false);
      await write((tx) => send(tx, { to: agent, from: agent.id }));
      expect(await hasHeard(-1)).toBe(false);
      await write((tx) => send(tx, { to: agent }));
      expect(await hasHeard(-1)).toBe(true);
      expect(await hasHeard(0)).toBe(false);
    });
  });

  describe('the deadline of a request', () => {
    test('stands still while its answer waits for people', async () => {
      const agent = await write((tx) => addAgent(tx));
      const id = await write((tx) => send(tx, { to: agent, kind: 'request', deadlineAt: 100 }));
      const overdue = async (now: number) =>
        (await read((tx) => tx.requests.listOverdueRequests({ now, limit: 1000 }))).some((one) => one.messageId === id);
      const hold = (at: number) => write((tx) => tx.requests.holdDeadline({ id, at }));
      const release = (at: number) => write((tx) => tx.requests.releaseDeadline({ id, at }));
      expect(await overdue(100)).toBe(true);
      await hold(50);
      await hold(60);
      await release(90);
      expect(await overdue(1000)).toBe(false);
      await release(150);
      expect(await read((tx) => tx.requests.getRequest({ id }))).toMatchObject({ deadlineAt: 200, waits: 0 });
      expect([await overdue(199), await overdue(200)]).toEqual([false, true]);
      await release(900);
      expect(await read((tx) => tx.requests.getRequest({ id }))).toMatchObject({ deadlineAt: 200, waits: 0 });
      await expect(write((tx) => tx.requests.holdDeadline({ id: 'none', at: 1 }))).rejects.toThrow('no request');
    });
  });
}
