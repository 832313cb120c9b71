import { expect, test } from 'vitest';
import { startCrashingDaemon } from './helpers/crashing-daemon.ts';
import { until } from './helpers/until.ts';

/**
 * The daemon is killed (kill -9) after each of these: the request, the claim and its reservation, the question, the answer and what it
 * wakes. `rules/budget-deaths.test.ts` has the deaths between: after every commit of a budgeted turn, admission, metering and final
 * charge included, but in one process, so that it neither loses memory of its own nor leaves programs and sockets behind.
 */
const EVENTS = [1, 3, 5, 8];

test('a daemon killed around a reservation, a question and its answer: nothing stays reserved, everything is asked once', {
  timeout: 180_000,
}, async () => {
  const { client, crashAfter, send } = await startCrashingDaemon(`async ({ messages, usage }) => {
  usage({ inputTokens: 100, outputTokens: 0 });
  return 'heard ' + messages[0].text;
}`);
  const budget = async () =>
    (await client.listBudgets()).items.find(({ period }) => period === 'total') ?? { used: 0, reserved: 0, waiting: 0 };

  for (const n of EVENTS) {
    // No step fits, so the first turn must ask.
    const { used } = await budget();
    await client.setBudget({ of: 'ann', unit: 'tokens', period: 'total', amount: used + 10 });
    const crash = crashAfter(n);
    const { messageId } = await send(`${n}`);
    const asked = new Set<string>();
    const reply = await until('the reply', async () => {
      const open = (await client.listQuestions().catch(() => ({ items: [] }))).items;
      expect(open.length).toBeLessThanOrEqual(1);
      for (const { id } of open) {
        asked.add(id);
        await client.answerQuestion(id, 'raise 200_000', { idempotencyKey: `yes-${id}` }).catch(() => null);
      }
      return client.awaitReply(messageId, 1).catch(() => null);
    });
    expect(reply?.text).toBe(`heard ${n}`);
    await crash;
    expect(asked.size).toBe(1);
    const after = await until('the end of the run', async () => {
      const now = await budget().catch(() => null);
      return now?.reserved === 0 && now.waiting === 0 ? now : null;
    });
    expect(after.used).toBeGreaterThanOrEqual(used + 100);
    // An attempt that was cut off is charged what it had reserved, once.
    expect(after.used).toBeLessThanOrEqual(used + 100 + 50_000);
  }
});
