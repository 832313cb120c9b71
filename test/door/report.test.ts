import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCHEDULED } from '../../src/core/people.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const CONFIG = `
[daemon]
max_attempts = 1
time_zone = "Europe/Berlin"
quiet_after = "1s"
stalled_after = "2s"
[schedules.nightly]
cron = "0 3 * * *"
to = "echo"
text = "Good night"
`;

let world: TestDaemon;

beforeAll(async () => {
  world = await startDaemon({ config: CONFIG });
  const program = world.program(
    'echo',
    "({ messages }) => { if (messages[0].text === 'break') throw new Error('it broke'); return 'ok'; }",
  );
  await world.client.createAgent({ name: 'echo', program });
  for (const text of ['hello', 'break']) {
    const { messageId } = await world.client.sendMessage('echo', { text });
    await until('the answer', () => world.client.awaitReply(messageId, 5));
  }
});

afterAll(() => world.stop());

async function run(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runSubstrat(args, { home: world.home });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

describe('report', () => {
  test('shows what ran, what failed and what waits', async () => {
    await world.client.pauseAgent('echo');
    expect(await run(['agent', 'send', 'echo', 'later'])).toMatch(
      /^Sent \(.*\)\. echo is paused: it answers after `substrat agent resume echo`\.\n$/,
    );
    const text = await run(['report', '--since', '2h']);
    expect(text).toMatch(/2 runs, 1 completed, 1 failed/);
    expect(text).toMatch(/What failed\n.*echo.*it broke/);
    expect(text).toMatch(/What waits for you\necho is paused/);
    const { json } = await ask(world, '/api/report?since=2026-01-31');
    expect(json).toMatchObject({ total: { runs: 2 }, agents: [{ agent: 'echo', completed: 1, failed: 1 }] });
    expect((await runSubstrat(['report', '--since', 'ever'], { home: world.home })).stderr).toMatch(/--since must be/);
  });
});

describe('the report of a team that waits', () => {
  const COMMIT = 'ab'.repeat(20);
  const create = (name: string, turn: string) => world.client.createAgent({ name, program: world.program(name, turn) });

  test('shows budgets with what is used and waits, but not a default one that is untouched', async () => {
    await create('spender', "({ usage }) => { usage({ inputTokens: 4500, outputTokens: 0 }); return 'spent'; }");
    await world.client.setBudget({ of: 'spender', unit: 'tokens', period: 'total', amount: 5000 });
    await world.client.setBudget({ of: 'echo', unit: 'runs', amount: 7 });
    const first = await world.client.sendMessage('spender', { text: 'one' });
    await until('the reply', () => world.client.awaitReply(first.messageId, 5));
    await world.client.sendMessage('spender', { text: 'two' });
    const question = await until('the question', async () => (await world.client.listQuestions()).items[0]);

    const { json } = await ask(world, '/api/report');
    expect(json.budgets).toEqual([
      expect.objectContaining({ of: 'spender', used: 4500, limit: 5000, waiting: 1, questionId: question.id }),
      expect.objectContaining({ of: 'echo', unit: 'runs', used: 0, limit: 7, waiting: 0 }),
    ]);
    const stopped = { agent: 'spender', state: 'stopped', reason: expect.stringContaining('5,000 tokens in total') };
    expect(json.waiting).toMatchObject({ questions: [{ id: question.id }], turns: [stopped] });
    const every = (await world.client.listBudgets()).items.filter(({ origin }) => origin === 'default');
    expect(every.map(({ of }) => of)).toEqual(['echo', 'spender']);

    const text = await run(['report']);
    expect(text).toMatch(/Budgets\nspender and below: 5,000 tokens in total, 4,500 tokens used, 1 run waiting\n/);
    expect(text).toMatch(/\necho and below: 7 runs per day, 0 runs used\n/);
    expect(text).not.toContain('on its first day');
    expect(text).toMatch(/What waits for you\n(.*\n)+spender is stopped: .*5,000 tokens in total/);
    await world.client.answerQuestion(question.id, 'stop');
    expect(await run(['report'])).toMatch(/What was answered\n.* spender: .*\(answered\)/);
  });

  test('shows a stalled turn and what it last did; a quiet one does not wait for anybody', async () => {
    await create('silent', 'async () => { setInterval(() => {}, 1e6); await new Promise(() => {}); }');
    await world.client.sendMessage('silent', { text: 'Think.' });
    const state = async () => (await world.client.getAgent('silent')).status?.kind;
    await until('it is quiet', async () => (await state()) === 'quiet');
    const quiet = await ask(world, '/api/report');
    expect(quiet.json.waiting.turns).not.toContainEqual(expect.objectContaining({ state: 'quiet' }));
    await until('it is stalled', async () => (await state()) === 'stalled');
    const { json } = await ask(world, '/api/report');
    const stalled = { agent: 'silent', state: 'stalled', reason: expect.stringMatching(/^No event since it began/) };
    expect(json.waiting.turns).toContainEqual(stalled);
    expect(await run(['report'])).toMatch(/\nsilent is stalled: No event since it began/);
    const [turn] = (await world.client.listRuns({ agent: 'silent' })).items;
    await world.client.cancelRun(turn?.id ?? '');
    await until('its end', async () => (await state()) === undefined);
  });

  test('shows what is claimed and not proven', async () => {
    await create(
      'claimer',
      `async ({ call }) => {
        await call('send_message', { recipient: 'USER', text: 'Done.', evidence: [{ commit: '${COMMIT}' }] });
      }`,
    );
    const { messageId } = await world.client.sendMessage('claimer', { text: 'Go.' });
    await until('the reply', () => world.client.awaitReply(messageId, 5));
    const { json } = await ask(world, '/api/report');
    expect(json.evidence).toMatchObject([{ agent: 'claimer', kind: 'commit', subject: COMMIT }]);
    expect(json.evidence[0].state).not.toBe('proven');
    const text = await run(['report']);
    expect(text).toMatch(new RegExp(`What is claimed or refuted\\nclaimer: (claimed|refuted): commit ${COMMIT}`));
    expect(text).not.toContain('What is proven');
    const none = await ask(world, `/api/report?since=${encodeURIComponent(new Date().toISOString())}`);
    expect(none.json).toMatchObject({ total: { runs: 0 }, agents: [], evidence: [], failures: [] });
  });
});

describe('schedule', () => {
  test('adds, lists and removes; those of the configuration stay', async () => {
    expect(await run(['schedule', 'add', 'hourly', '--cron', '0 * * * *', '--to', 'echo', 'Look', 'again'])).toMatch(
      /Added the schedule hourly/,
    );
    const list = await run(['schedule', 'list']);
    expect(list).toMatch(/hourly +0 \* \* \* \* +echo/);
    expect(list).toMatch(/nightly +0 3 \* \* \* +echo/);
    const { json } = await ask(world, '/api/schedules');
    expect(json.items).toMatchObject([
      { name: 'hourly', origin: 'person', text: 'Look again' },
      { name: 'nightly', origin: 'configuration', timeZone: 'Europe/Berlin', runs: 20, usedRuns: 0 },
    ]);
    expect(await run(['schedule', 'remove', 'hourly'])).toMatch(/Removed/);
    expect((await runSubstrat(['schedule', 'remove', 'nightly'], { home: world.home })).stderr).toMatch(
      /in the configuration/,
    );
  });

  test('lists how many of its runs the last firing has used; its payer is not a person, removed or not', async () => {
    const people = async () => (await ask(world, '/api/participants?limit=500')).json.items;
    const before = await people();
    await run(['schedule', 'add', 'yearly', '--cron', '0 0 1 1 *', '--to', 'echo', '--runs', '3', 'Look']);
    const { id = '' } =
      (await world.daemon.store.read((tx) => tx.schedules.getScheduleNamed({ nameKey: 'yearly' }))) ?? {};
    const { id: treeId } = await world.client.getAgent('echo');
    await world.daemon.store.write(async (tx) => {
      await tx.trees.countTreeRun({ treeId });
      await tx.trees.chargePerson({ treeId, personId: id, day: SCHEDULED });
    });
    expect(await run(['schedule', 'list'])).toMatch(/yearly .* never +1 of 3 +Look/);
    const { json } = await ask(world, '/api/schedules');
    expect(json.items.map(({ name, usedRuns }: { name: string; usedRuns: number }) => [name, usedRuns])).toEqual([
      ['nightly', 0],
      ['yearly', 1],
    ]);
    expect(await people()).toEqual(before);
    await run(['schedule', 'remove', 'yearly']);
    expect(await people()).toEqual(before);
    expect(await world.daemon.store.read((tx) => tx.trees.listPersonRuns({ from: 0, to: 2 ** 31 }))).toEqual([]);
    expect(
      await runSubstrat(['budget', 'set', `schedule:${id}`, '--person', '--runs', '1'], { home: world.home }),
    ).toMatchObject({ code: 1 });
  });
});
