import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';

let world: TestDaemon;
let browser: Browser;

beforeAll(async () => {
  [world, browser] = await Promise.all([startDaemon({ members: { ada: {}, ben: { parent: 'ada' } } }), openBrowser()]);
  const curious = world.program(
    'curious',
    `async ({ messages, call }) => {
      if (messages[0].kind === 'request') await call('send_message', { recipient: 'user', text: 'Which **one**?', sync: true });
      return 'thanks for ' + messages[0].text;
    }`,
  );
  const broken = world.program('broken', "() => { throw new Error('The database does not answer.'); }");
  await world.client.createAgent({ name: 'curious', program: curious });
  await world.client.createAgent({ name: 'broken', program: broken });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

describe('Needs me', { timeout: 60_000 }, () => {
  test('says so if nothing waits', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });

  test('a question is answered by keyboard, and the agent goes on', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    const { messageId } = await world.client.sendMessage('curious', { text: 'choose' });
    await page.getByRole('heading', { name: 'curious asks you' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.keyboard.type('the red one');
    await page.keyboard.press('Enter');
    const reply = await world.client.awaitReply(messageId, 20);
    expect(reply?.text).toBe('thanks for the red one');
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test('a failed run is listed with its reason, and can be put off', async () => {
    const { page, close } = await openPage(browser, world.client, { at: '/needs-me' });
    await world.client.sendMessage('broken', { text: 'try' });
    await page.getByRole('heading', { name: 'broken: run failed' }).waitFor({ timeout: 20_000 });
    expect(await page.getByText('The database does not answer.').count()).toBeGreaterThan(0);
    await page.keyboard.press('s');
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await close();
  });
});

describe('Team and Runs', { timeout: 60_000 }, () => {
  test('a run is followed from the agent to its tool call', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team/curious' });
    const pane = page.getByRole('complementary', { name: 'curious' });
    await pane
      .getByRole('link', { name: /completed/ })
      .first()
      .click();
    await page
      .getByRole('button', { name: /send_message/ })
      .or(page.getByText('thanks for'))
      .first()
      .waitFor();
    const { items } = await world.client.listRuns({ agent: 'curious' });
    await page.evaluate(`location.hash = '/runs/${items.at(-1)?.id}'`);
    await page.getByRole('button', { name: /send_message/ }).click();
    const step = page.getByRole('complementary', { name: 'Step' });
    await step.getByText('Which **one**?').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });

  test('an agent is created, written to and terminated', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team' });
    await page.getByRole('button', { name: 'New agent' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Name', exact: true }).fill('zoe');
    await form.getByLabel('Provider').fill('external');
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create' }).click();
    const pane = page.getByRole('complementary', { name: 'zoe' });
    await pane.getByRole('textbox').fill('Hello Zoe');
    await pane.getByRole('textbox').press('Enter');
    await pane.getByText('Sent.').waitFor();
    expect((await world.client.listMessages('zoe')).items[0]?.text).toBe('Hello Zoe');
    await pane.getByRole('button', { name: 'Terminate' }).click();
    await pane.getByRole('button', { name: /Terminate zoe/ }).click();
    await page.getByRole('table').getByText('zoe').waitFor({ state: 'detached' });
    expect((await world.client.getAgent('ada')).state).not.toBe('terminated');
    expect(problems).toEqual([]);
    await close();
  });
});

describe('everywhere', { timeout: 60_000 }, () => {
  test.each(['/team/ada', '/runs', '/needs-me'])(
    '%s: axe finds nothing, in the dark, on a phone, at 200 percent',
    async (at) => {
      const { page, problems, close } = await openPage(browser, world.client, { at, colorScheme: 'dark' });
      await page.locator('main h1').waitFor();
      expect(await findFaults(page)).toEqual([]);
      // At 200 % a window of 1440 has 720 pixels of layout.
      for (const width of [720, 390, 320]) {
        await page.setViewportSize({ width, height: 800 });
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([width, overflow]).toEqual([width, 0]);
      }
      expect(await findFaults(page)).toEqual([]);
      expect(problems).toEqual([]);
      await close();
    },
  );

  test('the palette and the keys work without a mouse', async () => {
    const { page, close } = await openPage(browser, world.client, { at: '/talk' });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('team');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    await page.locator('body').press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Open Needs me').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('body').press('g');
    await page.locator('body').press('r');
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await close();
  });
});
