import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');
/** The daemon is killed after each of these: the request, the claim and its reservation, the question, the answer and what it wakes. */
const EVENTS = [1, 3, 5, 8];

test('a daemon killed around a reservation, a question and its answer: nothing stays reserved, everything is asked once', {
  timeout: 180_000,
}, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'spend-'));
  const home = join(cwd, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(
    join(cwd, 'agent.ts'),
    `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ messages, usage }) => {
  usage({ inputTokens: 100, outputTokens: 0 });
  return 'heard ' + messages[0].text;
});
`,
  );
  const config = join(cwd, 'substrat.toml');
  writeFileSync(
    config,
    '[daemon]\nmax_deaths = 0\ndefault_provider = "scripted"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n[members.ann]\nprogram = "agent.ts"\n',
  );
  let daemon = await startDaemonProcess({ home, config });
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  onTestFinished(async () => {
    database.close();
    await daemon.kill();
    rmSync(cwd, { recursive: true, force: true });
  });
  const client = createClient({ home });
  const written = database.prepare('select coalesce(max(seq), 0) from events').pluck();
  const progress = () => Number(written.get());
  const budget = async () =>
    (await client.listBudgets()).items.find(({ period }) => period === 'total') ?? { used: 0, reserved: 0, waiting: 0 };

  for (const n of EVENTS) {
    // No step fits, so the first turn must ask.
    const { used } = await budget();
    await client.setBudget({ of: 'ann', unit: 'tokens', period: 'total', amount: used + 10 });
    const before = progress();
    const killing = until(`event ${n}`, () => progress() >= before + n).then(async () => {
      await daemon.kill();
      daemon = await startDaemonProcess({ home, config });
    });
    const send = () =>
      client.sendMessage('ann', { text: `${n}`, inReplyTo: null }, { idempotencyKey: `go-${n}` }).catch(() => null);
    const { messageId } = await until('the request', async () => (await send()) ?? undefined);
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
    await killing;
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
