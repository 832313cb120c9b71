import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { until } from '../helpers/until.ts';

const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
let world: TestDaemon;
let browser: Browser;

beforeAll(async () => {
  [world, browser] = await Promise.all([startDaemon(), openBrowser()]);
  const lead = world.program(
    'lead',
    `async ({ messages, call, usage }) => {
      if (messages[0].kind !== 'request') return 'The worker said ' + messages[0].text;
      usage({ inputTokens: 1000, outputTokens: 10, costUsd: 0.5 });
      await call('send_message', { recipient: 'worker', text: 'How many?', sync: true });
    }`,
  );
  const worker = world.program('worker', "() => 'seven'");
  await world.client.createAgent({ name: 'lead', program: lead, instructions: 'Ask the worker.' });
  await world.client.createAgent({ name: 'worker', program: worker, parent: 'lead' });
  await world.client.createChannel({ id: 'general' });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

describe('a run', { timeout: 60_000 }, () => {
  test('shows its prompt by section, what a step cost and where it led, and its trace', async () => {
    const { messageId } = await world.client.sendMessage('lead', { text: 'How many are there?' });
    await until('the answer', () => world.client.awaitReply(messageId, 5));
    const asked = (await world.client.listRuns({ agent: 'lead' })).items.at(-1);
    const { page, problems, close } = await openPage(browser, world.client, { at: `/runs/${asked?.id}` });
    await page.getByRole('button', { name: /System prompt, 4 sections/ }).click();
    const step = page.getByRole('complementary', { name: 'Step' });
    await step.getByText('instructions').click();
    await step.getByText('Ask the worker.').waitFor();
    await page.getByRole('button', { name: /send_message.*\$0\.50/ }).click();
    await step.getByText('1k tokens in, 10 out, $0.50').waitFor();
    await step.getByRole('link', { name: /message to worker/ }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'One trace' }).click();
    const trace = page.getByRole('complementary', { name: 'Trace' });
    await trace.getByRole('link', { name: /you.*How many are there\?/ }).waitFor();
    expect(await trace.locator('.trace li').evaluateAll((all) => all.map((row) => row.className))).toEqual([
      'd0',
      'd1',
      'd2',
    ]);
    expect(await findFaults(page)).toEqual([]);
    await trace
      .getByRole('link', { name: /worker/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /^worker \// }).waitFor();
    await trace.getByRole('link', { name: /reply to lead/ }).click();
    await page
      .getByRole('log', { name: /Messages in/ })
      .getByText('seven')
      .waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

describe('an attempt that failed', { timeout: 60_000 }, () => {
  test('is a row that says why; its pane has the whole error', async () => {
    const flag = join(world.directory, 'failed-once');
    const program = world.program(
      'shaky',
      `async ({ say }) => {
        const { existsSync, writeFileSync } = await import('node:fs');
        say('I look.');
        if (existsSync(${JSON.stringify(flag)})) return 'done';
        writeFileSync(${JSON.stringify(flag)}, '');
        throw new Error('The database does not answer.');
      }`,
    );
    await world.client.createAgent({ name: 'shaky', program });
    const { messageId } = await world.client.sendMessage('shaky', { text: 'Look.' });
    await until('the answer', () => world.client.awaitReply(messageId, 20));
    const [last] = (await world.client.listRuns({ agent: 'shaky' })).items;
    const { failedAttempts } = await world.client.getRun(last?.id ?? '');
    expect(failedAttempts).toMatchObject([
      { attempt: 1, kind: 'crash', error: expect.stringContaining('The database does not answer.') },
    ]);
    const { page, problems, close } = await openPage(browser, world.client, { at: `/runs/${last?.id}` });
    await page.getByText('1 failed: crash').waitFor();
    const row = page.getByRole('button', {
      name: /^Attempt 1 failed: .*does not answer.*The next one began 0:0\d later/,
    });
    await row.click();
    const pane = page.getByRole('complementary', { name: 'Attempt' });
    await pane.getByText('The database does not answer.').waitFor();
    expect(await row.getAttribute('aria-pressed')).toBe('true');
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
});

describe('files', { timeout: 60_000 }, () => {
  test('of a draft outlive the page, and are forgotten when the message is sent', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/general' });
    const field = page.getByRole('textbox', { name: 'Message #general' });
    await field.waitFor();
    const chosen = page.getByRole('list', { name: 'Files to send' });
    await page
      .locator('input[type=file]')
      .setInputFiles([{ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('Ship it.') }]);
    await chosen.getByText('plan.txt').waitFor();
    await field.fill('The plan');
    await page.getByText('Draft is kept on this device').waitFor();
    await page.reload();
    await chosen.getByText('plan.txt').waitFor();
    // Another place has its own.
    await page.evaluate("location.hash = '/talk/dm-lead-user'");
    await page.getByRole('textbox', { name: 'Message @lead' }).waitFor();
    expect(await chosen.count()).toBe(0);
    await page.goBack();
    await chosen.getByText('plan.txt').waitFor();
    expect(await field.inputValue()).toBe('The plan');
    await field.press('Enter');
    await chosen.waitFor({ state: 'detached' });
    const { items } = await world.client.listChannelMessages('general');
    expect(items[0]).toMatchObject({ text: 'The plan', attachments: [{ name: 'plan.txt', size: 8 }] });
    await page.reload();
    await page.getByRole('log').getByText('The plan').waitFor();
    await page.waitForTimeout(300);
    expect(await chosen.count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });

  test('are chosen, pasted and dropped, sent with a message, and read again', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/general' });
    const field = page.getByRole('textbox', { name: 'Message #general' });
    await field.waitFor();
    await page.locator('input[type=file]').setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Buy milk.') },
      { name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(5_300_000) },
    ]);
    await page.getByText('large.bin has 5.3 MB; a file may have 5 MB.').waitFor();
    // As text: the test's own types have no browser in them.
    const give = (type: 'paste' | 'drop', name: string): Promise<unknown> =>
      page.evaluate(`{
        const transfer = new DataTransfer();
        const bytes = Uint8Array.from(atob('${PICTURE}'), (letter) => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], '${name}', { type: 'image/png' }));
        const event = { bubbles: true, cancelable: true, clipboardData: transfer, dataTransfer: transfer };
        const field = document.querySelector('.box textarea');
        field.dispatchEvent('${type}' === 'paste' ? new ClipboardEvent('paste', event) : new DragEvent('drop', event));
      }`);
    const chosen = page.getByRole('list', { name: 'Files to send' });
    await give('paste', 'image.png');
    await chosen.getByText(/picture-\d+\.png/).waitFor();
    await give('drop', 'dropped.png');
    await chosen.getByText('dropped.png').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await chosen.getByRole('button', { name: /Remove picture/ }).click();
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await field.fill('Here they are');
    await field.press('Enter');
    const files = page.getByRole('log').getByRole('list', { name: 'Files' });
    await files.getByRole('button', { name: /dropped\.png/ }).click();
    await files.getByRole('img', { name: 'dropped.png' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      files.getByRole('button', { name: /notes\.txt/ }).click(),
    ]);
    expect(readFileSync(await download.path(), 'utf8')).toBe('Buy milk.');
    expect(await chosen.count()).toBe(0);
    const { items } = await world.client.listChannelMessages('general');
    expect(items[0]?.attachments.map(({ name }) => name)).toEqual(['notes.txt', 'dropped.png']);
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
});
