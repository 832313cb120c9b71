import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { until } from '../helpers/until.ts';

const PATIENCE = '[daemon]\nquiet_after = "1s"\nstalled_after = "2s"\nmax_attempts = 1\n';
let world: TestDaemon;
let browser: Browser;

beforeAll(async () => {
  [world, browser] = await Promise.all([startDaemon({ config: PATIENCE }), openBrowser()]);
  const silent = world.program('silent', 'async () => { setInterval(() => {}, 1e6); await new Promise(() => {}); }');
  const broken = world.program('broken', "() => { throw new Error('The database does not answer.'); }");
  await world.client.createAgent({ name: 'silent', program: silent });
  await world.client.createAgent({ name: 'broken', program: broken });
  await world.client.setBudget({ of: 'broken', scope: 'agent', unit: 'runs', amount: 4, period: 'day' });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

describe('a turn without a sign of life', { timeout: 60_000 }, () => {
  test('needs a person when the daemon says so, with its evidence, and can be ended', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    await world.client.sendMessage('silent', { text: 'Think.' });
    await page.getByRole('heading', { name: 'silent: no sign of its turn' }).waitFor({ timeout: 30_000 });
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByText(/No event since it began .* ago.* It goes on until you decide\./).waitFor();
    await page.getByRole('button', { name: 'Start again' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('heading', { name: 'silent: no sign of its turn' }).waitFor({ state: 'detached' });
    await until(
      'the end',
      async () => (await world.client.listRuns({ agent: 'silent' })).items[0]?.state === 'cancelled',
    );
    expect(problems).toEqual([]);
    await close();
  });
});

describe('budgets', { timeout: 60_000 }, () => {
  test('are set, changed and removed on the page', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/costs' });
    await page.getByRole('button', { name: 'Set a budget' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('combobox', { name: 'Limit' }).selectOption('one agent');
    await form.getByRole('combobox', { name: 'Agent' }).selectOption('silent');
    await form.getByRole('combobox', { name: 'Unit' }).selectOption('minutes of turns');
    await form.getByRole('textbox', { name: 'Amount, in minutes of turns' }).fill('many');
    await form.getByRole('button', { name: 'Set' }).click();
    await form.getByRole('alert').getByText('"many" is not a number.').waitFor();
    await form.getByRole('textbox', { name: 'Amount' }).fill('1,500');
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole('button', { name: 'Set' }).click();
    await form.waitFor({ state: 'detached' });
    const found = async () =>
      (await world.client.listBudgets()).items.find(({ of, unit }) => of === 'silent' && unit === 'seconds');
    expect(await found()).toMatchObject({ scope: 'agent', period: 'day', amount: 90_000 });
    await page.getByRole('button', { name: 'Change the limit of silent, minutes of turns a day' }).click();
    const amount = form.getByRole('textbox', { name: 'Amount, in minutes of turns a day' });
    expect(await amount.inputValue()).toBe('1500');
    await amount.fill('30');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await found()).toMatchObject({ amount: 1800 });
    await page.getByRole('button', { name: 'Change the limit of silent, minutes of turns a day' }).click();
    await form.getByRole('button', { name: 'Remove the limit' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await found()).toBeUndefined();
    expect(problems).toEqual([]);
    await close();
  });
});

describe('an agent that a budget stops', { timeout: 60_000 }, () => {
  test('says so in the tree, and needs a person if nobody is asked', async () => {
    const program = world.program('dear', "() => 'done'");
    await world.client.createAgent({ name: 'dear', program });
    // Nobody knows what a turn of a scripted agent costs, so nothing is asked: the limit cannot be kept.
    const { id } = await world.client.setBudget({ of: 'dear', unit: 'usd', amount: 1 });
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team' });
    const { messageId } = await world.client.sendMessage('dear', { text: 'Work.' });
    await page.getByRole('row', { name: /dear.*stopped: The budget of dear/ }).waitFor();
    await page
      .getByRole('link', { name: /Needs me/ })
      .first()
      .click();
    await page.getByRole('link', { name: /dear: stopped/ }).click();
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByText(/the price of scripted is not known/).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('a');
    await page.getByRole('button', { name: 'Change the limit of dear and all below it, US dollars a day' }).waitFor();
    await world.client.removeBudget(id);
    await until('the answer', () => world.client.awaitReply(messageId, 5));
    await page
      .getByRole('navigation', { name: 'Agents' })
      .getByRole('link', { name: /dear idle/ })
      .waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

describe('Costs and health', { timeout: 60_000 }, () => {
  test('shows what is used of a budget, the report, the log and what the doctor says', async () => {
    const { messageId } = await world.client.sendMessage('broken', { text: 'Run the tests.' });
    await until('the error', () => world.client.awaitReply(messageId, 5));
    const { page, problems, close } = await openPage(browser, world.client, { at: '/costs' });
    await page.getByText('1 run of 4 runs a day, 25 %').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Report' }).click();
    await page
      .getByText(/1 failed/)
      .first()
      .waitFor();
    await page.getByRole('listitem').filter({ hasText: 'The database does not answer.' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: '1 run of 4 runs a day' }).waitFor();
    // The limit of a tree's first day is not worth a line before something is used of it.
    expect(await page.getByText('on its first day').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    const entries = page.getByRole('list', { name: 'Entries, newest first' });
    await entries.getByText('the daemon is running').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('searchbox', { name: 'Only entries with this text' }).fill('nothing has this');
    await page.getByText('No entry is like that').waitFor();
    await page.getByRole('link', { name: 'Health', exact: true }).click();
    await page.getByRole('button', { name: 'Examine the installation' }).click();
    await page
      .getByRole('listitem')
      .filter({ hasText: /^ok: |running \(pid/ })
      .first()
      .waitFor({ timeout: 40_000 });
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
});
