import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');
/** The daemon is killed after each write: the request, the turn's start, the question, its end, the answer, the next turn's start. */
const EVENTS = [1, 4, 6, 9, 11, 14];

test('a daemon killed at every write from a question to the end of what it wakes: one outcome, one wake', {
  timeout: 180_000,
}, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'ask-'));
  const home = join(cwd, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(
    join(cwd, 'agent.ts'),
    `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ messages, call }) => {
  if (messages[0].kind !== 'request') return 'heard ' + messages.map(({ text }) => text).join(' and ');
  await call('ask_person', { question: messages[0].text + '?' });
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
  const openQuestion = async () => (await client.listQuestions().catch(() => ({ items: [] }))).items[0];

  for (const [round, n] of EVENTS.entries()) {
    const before = progress();
    let killed = false;
    const killing = until(`event ${n}`, () => progress() >= before + n).then(async () => {
      await daemon.kill();
      daemon = await startDaemonProcess({ home, config });
      killed = true;
    });
    const key = { idempotencyKey: `go-${n}` };
    const send = () => client.sendMessage('ann', { text: `number ${n}`, inReplyTo: null }, key).catch(() => null);
    const { messageId } = await until('the request', async () => (await send()) ?? undefined);
    const question = await until('the question', openQuestion);
    const answer = () =>
      client.answerQuestion(question.id, `yes ${n}`, { idempotencyKey: `yes-${n}` }).catch(() => null);
    await until('the answer', answer);
    const reply = await until('the reply', () => client.awaitReply(messageId, 5).catch(() => null));
    expect(reply?.text).toBe(`heard yes ${n}`);
    await killing;
    expect(killed).toBe(true);
    expect(await client.getQuestion(question.id)).toMatchObject({ outcome: 'answered', note: `yes ${n}` });
    expect((await client.listReplies(question.id)).items).toHaveLength(1);
    await expect(client.answerQuestion(question.id, 'no')).rejects.toThrow(/closed: answered by user/);
    // One run that asked and one that the answer woke.
    expect((await client.listRuns({ agent: 'ann', limit: 500 })).items).toHaveLength(2 * (round + 1));
  }
});
