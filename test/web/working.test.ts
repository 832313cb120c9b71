import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { until } from '../helpers/until.ts';

const POLICY = '[policies.careful]\ntool = "store_memory"\naction = "ask"\n';
let world: TestDaemon;
let browser: Browser;
let gate: string;

beforeAll(async () => {
  [world, browser] = await Promise.all([startDaemon({ members: { rex: {} }, config: POLICY }), openBrowser()]);
  gate = join(world.directory, 'gate');
  // Says something, calls a tool of its own, and ends when the gate exists.
  const writer = world.program(
    'writer',
    `async ({ messages, say }) => {
      const { existsSync } = await import('node:fs');
      const out = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
      say('I look at **' + messages.at(-1).text + '**.');
      out({ type: 'tool_call', id: 'a', name: 'read_file', arguments: { path: 'handler.ts' } });
      while (!existsSync(${JSON.stringify(gate)})) await new Promise((done) => setTimeout(done, 20));
      out({ type: 'tool_result', id: 'a', result: 'ok' });
      return 'Done with ' + messages.at(-1).text;
    }`,
  );
  const careful = world.program(
    'careful',
    `async ({ messages, call }) => {
      const result = await call('store_memory', { content: 'The sky is blue.' }).catch((error) => error);
      return String(result.message);
    }`,
  );
  await world.client.createAgent({ name: 'writer', program: writer });
  await world.client.createAgent({ name: 'careful', program: careful });
  await world.client.createChannel({ id: 'general', members: ['writer', 'careful'] });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

const openGate = (): void => writeFileSync(gate, '');
const closeGate = (): void => rmSync(gate, { force: true });

describe('a turn that runs', { timeout: 60_000 }, () => {
  test('shows the owner its text and calls as they come, and then its message; others see that it works', async () => {
    closeGate();
    const mine = await openPage(browser, world.client, { at: '/talk/general' });
    const other = await openPage(browser, world.client, { at: '/talk/general', as: 'anna' });
    await other.page.getByRole('textbox', { name: 'Message #general' }).waitFor();
    await world.client.postMessage('general', { text: 'the refunds @writer' });
    const row = mine.page.getByRole('article', { name: 'writer, writing now' });
    await row.getByText('the refunds @writer').waitFor();
    expect(await row.locator('strong').textContent()).toBe('the refunds @writer');
    await row.getByRole('link', { name: /read_file.*handler\.ts/ }).waitFor();
    await mine.page
      .getByRole('navigation', { name: 'Agents' })
      .getByText(/running: read_file, call 1/)
      .waitFor();
    await mine.page
      .getByRole('navigation', { name: 'Agents' })
      .getByText(/^1 of \d+ slots$/)
      .waitFor();
    await other.page.getByText('writer works on this').waitFor();
    expect(await other.page.getByText('I look at').count()).toBe(0);
    await row.getByRole('link', { name: /read_file/ }).click();
    await mine.page.getByRole('region', { name: 'Now' }).getByText('I look at').waitFor();
    expect(await findFaults(mine.page)).toEqual([]);
    await mine.page.goBack();
    await row.waitFor();
    openGate();
    await row.waitFor({ state: 'detached' });
    expect([...mine.problems, ...other.problems]).toEqual([]);
    await mine.close();
    await other.close();
  });

  test('messages that wait for it can be edited, removed and sent now', async () => {
    closeGate();
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team' });
    const first = await world.client.sendMessage('writer', { text: 'one' });
    await until('the run', async () => (await world.client.listRuns({ state: 'running' })).items.length > 0);
    const second = await world.client.sendMessage('writer', { text: 'two' });
    const third = await world.client.sendMessage('writer', { text: 'three' });
    await page.evaluate("location.hash = '/talk/dm-user-writer'");
    const dock = page.getByRole('region', { name: 'Messages that wait' });
    await dock.getByText('2 messages wait').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await dock.getByRole('listitem').filter({ hasText: 'three' }).getByRole('button', { name: 'Remove' }).click();
    await dock.getByText('1 message waits').waitFor();
    expect((await world.client.getMessage(third.messageId)).deletedAt).not.toBeNull();
    await dock.getByRole('button', { name: 'Edit' }).click();
    await dock.getByRole('textbox', { name: 'Edit the message' }).fill('two, but better');
    await dock.getByRole('button', { name: 'Save' }).click();
    await dock.getByText('two, but better').waitFor();
    await dock.getByRole('button', { name: 'Send now' }).click();
    expect((await world.client.awaitReply(first.messageId, 20))?.kind).toBe('error');
    openGate();
    const reply = await world.client.awaitReply(second.messageId, 20);
    expect(reply?.text).toBe('Done with two, but better');
    await dock.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await close();
  });

  test('an approval is given above the composer of a channel of the agent', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/general' });
    await world.client.sendMessage('careful', { text: 'remember it' });
    const dock = page.getByRole('region', { name: 'Approval that waits' });
    await dock.getByText('The sky is blue.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await dock.getByRole('button', { name: 'Approve once' }).click();
    await dock.waitFor({ state: 'detached' });
    await until('the passage', async () => (await world.client.listPassages('careful')).items.length === 1);
    expect(problems).toEqual([]);
    await close();
  });
});

describe('searching messages', { timeout: 60_000 }, () => {
  test('Ctrl F finds a message of any channel, and opens it where it was said', async () => {
    await world.client.createChannel({ id: 'old' });
    await world.client.postMessage('old', { text: 'The harbour is closed on Mondays.' });
    for (let i = 0; i < 120; i += 1) await world.client.postMessage('old', { text: `Talk ${i}` });
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/general' });
    await page.getByRole('textbox', { name: 'Message #general' }).waitFor();
    await page.keyboard.press('Control+f');
    await page.getByRole('combobox', { name: 'Search all messages' }).fill('harbour');
    await page.getByRole('option', { name: /harbour is closed/ }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('log', { name: 'Messages in old' }).getByText('The harbour is closed').waitFor();
    await page.getByRole('complementary', { name: 'Thread' }).getByText('The harbour is closed').waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

describe('settings', { timeout: 60_000 }, () => {
  test('are changed by a form, but not over what somebody else changed meanwhile', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team/rex' });
    const pane = page.getByRole('complementary', { name: 'rex' });
    await pane.getByRole('button', { name: 'Settings' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Role' }).fill('reviewer');
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole('button', { name: 'Save' }).click();
    await pane.getByText('reviewer').waitFor();
    await pane.getByRole('button', { name: 'Settings' }).click();
    await world.client.changeAgent('rex', { instructions: 'Read everything.' });
    await form.getByRole('textbox', { name: 'Role' }).fill('writer');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').waitFor();
    expect(await world.client.getAgent('rex')).toMatchObject({ role: 'reviewer', instructions: 'Read everything.' });
    await form.getByRole('button', { name: 'Cancel' }).click();
    await pane.getByRole('button', { name: 'Pause' }).click();
    await pane.getByRole('button', { name: 'Resume' }).click();
    await pane.getByRole('button', { name: 'Pause' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test('that were typed are not lost by a click outside, nor by the first Escape', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team/rex' });
    const pane = page.getByRole('complementary', { name: 'rex' });
    const form = page.getByRole('dialog');
    const role = form.getByRole('textbox', { name: 'Role' });
    const open = () => pane.getByRole('button', { name: 'Settings' }).click();
    await open();
    await page.mouse.click(5, 5);
    await form.waitFor({ state: 'detached' });
    await open();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await open();
    await role.fill('poet');
    await page.mouse.click(5, 5);
    await form.getByRole('alert').getByText('Your changes are not saved').waitFor();
    await page.mouse.click(5, 5);
    expect(await role.inputValue()).toBe('poet');
    // Who goes on typing is asked again.
    await role.fill('poets');
    await form.getByRole('alert').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await form.getByRole('alert').waitFor();
    expect(await role.inputValue()).toBe('poets');
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await open();
    expect(await role.inputValue()).not.toContain('poet');
    expect(problems).toEqual([]);
    await close();
  });
});
