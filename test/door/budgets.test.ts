import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;

/** Uses as many tokens as the message says. */
const SPENDER = `async ({ messages, usage }) => {
  usage({ inputTokens: Number(messages[0].text), outputTokens: 0 });
  return 'spent ' + messages[0].text;
}`;

beforeAll(async () => {
  world = await startDaemon({
    config: `[limits]
first_day_tokens = 500
[members.boss]
provider = "external"
budget = { tokens_per_day = 7000, minutes = 90 }
[members.hand]
parent = "boss"
provider = "external"
[people.user]
budget = { runs_per_day = 1250 }
`,
  });
});

afterAll(() => world.stop());

const run = (...args: string[]) => runSubstrat(args, { home: world.home });

test('a budget is set, shown, used up, asked about, raised and removed on the command line', async () => {
  const program = world.program('spender', SPENDER);
  await world.client.createAgent({ name: 'lead', program });
  expect((await run('budget', 'set', 'lead', '--tokens', '5_000', '--total')).stdout).toBe(
    'Set lead and below: 5,000 tokens in total, 0 tokens used\n',
  );
  const first = await world.client.sendMessage('lead', { text: '4500', inReplyTo: null });
  expect((await until('the reply', () => world.client.awaitReply(first.messageId, 5))).text).toBe('spent 4500');
  const second = await world.client.sendMessage('lead', { text: '10', inReplyTo: null });
  const question = await until('the question', async () => (await world.client.listQuestions()).items[0]);
  expect(question).toMatchObject({ agent: 'lead', kind: 'question', options: ['raise', 'stop', 'model NAME'] });
  const listed = await run('agent', 'list');
  expect(listed.stdout).toMatch(
    /lead +stopped since .*: The budget of lead and its descendants: 5,000 tokens in total/,
  );
  expect((await run('budget', 'list')).stdout).toMatch(
    /lead and below +5,000 tokens in total +4,500 tokens +500 tokens +1/,
  );
  expect((await run('answer', question.id, 'whatever')).stderr).toContain('"whatever" cannot be understood');
  expect((await run('answer', question.id, 'raise 50000')).code).toBe(0);
  expect((await until('the reply', () => world.client.awaitReply(second.messageId, 5))).text).toBe('spent 10');
  const inspected = await run('agent', 'inspect', 'lead');
  expect(inspected.stdout).toMatch(/budget +lead and below: 55,000 tokens in total, 4,510 tokens used/);
  expect(inspected.stdout).toMatch(/budget +lead and below: 500 tokens on its first day, 0 tokens used/);
  const { items } = await world.client.listBudgets();
  const { id = '' } = items.find(({ of, period }) => of === 'lead' && period === 'total') ?? {};
  expect((await run('budget', 'remove', id.slice(-8))).stdout).toBe('Removed the budget\n');
  expect((await world.client.listBudgets()).items.map((budget) => budget.id)).not.toContain(id);
  await expect(world.client.removeBudget(id)).rejects.toMatchObject({ code: 'not_found' });
});

test('the configuration sets budgets of members and people; what a person set stays', async () => {
  const configured = async () =>
    (await world.client.listBudgets()).items
      .filter(({ origin }) => origin === 'config')
      .map(({ scope, of, unit, period, amount }) => [scope, of, unit, period, amount].join(' '))
      .sort();
  expect(await configured()).toEqual([
    'person user runs day 1250',
    'subtree boss seconds total 5400',
    'subtree boss tokens day 7000',
  ]);
  await world.client.setBudget({ of: 'boss', unit: 'tokens', amount: 9000 });
  expect((await run('apply')).stdout).toContain('set by hand');
  const { items } = await world.client.listBudgets();
  expect(items.find(({ of, unit, period }) => of === 'boss' && unit === 'tokens' && period === 'day')).toMatchObject({
    amount: 9000,
    origin: 'person',
  });
});

test('limits that nobody could keep are refused with the reason, and only the owner sets any', async () => {
  await expect(world.client.setBudget({ scope: 'agent', of: 'hand', unit: 'runs', amount: 1 })).rejects.toThrow(
    'hand is external: its turns run outside of Substrat',
  );
  const program = world.program('quiet', '() => "ok"');
  await world.client.createAgent({ name: 'unpriced', program });
  await expect(world.client.setBudget({ scope: 'agent', of: 'unpriced', unit: 'usd', amount: 1 })).rejects.toThrow(
    'The price of scripted is not known. Set `[providers.scripted] prices`',
  );
  await world.client.createAgent({ name: 'mute', provider: 'copilot' });
  await expect(world.client.setBudget({ scope: 'agent', of: 'mute', unit: 'tokens', amount: 1 })).rejects.toThrow(
    'copilot does not report what it uses, so a limit in tokens cannot hold for mute. Limit its runs or minutes instead.',
  );
  await world.client.setBudget({ scope: 'agent', of: 'mute', unit: 'runs', amount: 1 });
  await expect(world.client.setBudget({ scope: 'person', of: 'nobody', unit: 'runs', amount: 1 })).rejects.toThrow(
    'There is no person "nobody".',
  );
  expect(await run('budget', 'set', 'unpriced')).toMatchObject({ code: 1 });
  const { token } = await world.client.createToken({ as: 'anna' });
  const { url } = await world.client.getStatus();
  const anna = createClient({ url: url as string, token });
  await expect(anna.setBudget({ of: 'unpriced', unit: 'runs', amount: 1 })).rejects.toMatchObject({
    code: 'forbidden',
  });
  await expect(anna.listBudgets()).rejects.toMatchObject({ code: 'forbidden' });
});

test('with an assumed price, a budget of dollars is accepted and charged by it', async () => {
  const config = '[providers.scripted]\nassume_price = { input = 10, output = 0 }\n';
  await using priced = await startDaemon({ config });
  await priced.client.createAgent({ name: 'lead', program: priced.program('spender', SPENDER) });
  await priced.client.setBudget({ of: 'lead', scope: 'agent', unit: 'usd', period: 'total', amount: 1 });
  const { messageId } = await priced.client.sendMessage('lead', { text: '20000' });
  await until('the reply', () => priced.client.awaitReply(messageId, 5));
  const [budget] = (await priced.client.listBudgets()).items.filter(({ unit }) => unit === 'usd');
  expect(budget).toMatchObject({ used: expect.closeTo(0.2), limit: 1 });
});
