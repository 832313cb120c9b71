import { expect, test } from 'vitest';
import { startCrashingDaemon } from './helpers/crashing-daemon.ts';
import { until } from './helpers/until.ts';

/** The daemon is killed after each write: the request, the turn's start, the question, its end, the answer, the next turn's start. */
const EVENTS = [1, 4, 6, 9, 11, 14];

test('a daemon killed at every write from a question to the end of what it wakes: one outcome, one wake', {
  timeout: 180_000,
}, async () => {
  const { client, crashAfter, send } = await startCrashingDaemon(`async ({ messages, call }) => {
  if (messages[0].kind !== 'request') return 'heard ' + messages.map(({ text }) => text).join(' and ');
  await call('ask_person', { question: messages[0].text + '?' });
}`);
  const openQuestion = async () => (await client.listQuestions().catch(() => ({ items: [] }))).items[0];

  for (const [round, n] of EVENTS.entries()) {
    const crash = crashAfter(n);
    const { messageId } = await send(`number ${n}`);
    const question = await until('the question', openQuestion);
    const answer = () =>
      client.answerQuestion(question.id, `yes ${n}`, { idempotencyKey: `yes-${n}` }).catch(() => null);
    await until('the answer', answer);
    const reply = await until('the reply', () => client.awaitReply(messageId, 5).catch(() => null));
    expect(reply?.text).toBe(`heard yes ${n}`);
    await crash;
    expect(await client.getQuestion(question.id)).toMatchObject({ outcome: 'answered', note: `yes ${n}` });
    expect((await client.listReplies(question.id)).items).toHaveLength(1);
    await expect(client.answerQuestion(question.id, 'no')).rejects.toThrow(/closed: answered by user/);
    // One run that asked and one that the answer woke.
    expect((await client.listRuns({ agent: 'ann', limit: 500 })).items).toHaveLength(2 * (round + 1));
  }
});
