import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';

const POLICY = '[policies.careful]\ntool = "store_memory"\naction = "ask"\n';
let world: TestDaemon;
let browser: Browser;

beforeAll(async () => {
  [world, browser] = await Promise.all([
    startDaemon({ members: { ada: {}, ben: { parent: 'ada' } }, config: POLICY }),
    openBrowser(),
  ]);
  const curious = world.program(
    'curious',
    `async ({ messages, call }) => {
      if (messages[0].kind === 'request') await call('send_message', { recipient: 'user', text: 'Which **one**?', sync: true });
      return 'thanks for ' + messages[0].text;
    }`,
  );
  const chooser = world.program(
    'chooser',
    `async ({ messages, call }) => {
      if (messages[0].kind !== 'request') return 'chose ' + messages[0].text;
      await call('ask_person', { question: 'Which branch?', options: ['main', 'next'], details: 'next is newer' });
    }`,
  );
  await world.client.createAgent({ name: 'chooser', program: chooser });
  const careful = world.program(
    'careful',
    `async ({ messages, call }) => {
      const result = await call('store_memory', { content: 'The *sky* is blue.' }).catch((error) => error);
      return String(result.message) + ', ' + messages[0].text;
    }`,
  );
  await world.client.createAgent({ name: 'careful', program: careful });
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

  test('a question shows its options, and one click answers it', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    const { messageId } = await world.client.sendMessage('chooser', { text: 'choose' });
    await page.getByRole('heading', { name: 'chooser asks you' }).waitFor();
    await page.getByText('next is newer').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: /^next/ }).click();
    expect((await world.client.awaitReply(messageId, 20))?.text).toBe('chose next');
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test('an approval shows all arguments; approved, the call is made', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    const { messageId } = await world.client.sendMessage('careful', { text: 'remember it' });
    await page.getByRole('heading', { name: 'careful: may it call store_memory?' }).waitFor();
    await page.getByText('"content": "The *sky* is blue."').first().waitFor();
    await page.getByText('nothing forces it to wait').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByLabel('Words for careful').fill('Only this once.');
    await page.getByRole('button', { name: 'Approve once' }).click();
    const reply = await world.client.awaitReply(messageId, 20);
    expect(reply?.text).toMatch(/Approved: call store_memory now.*Only this once\.$/s);
    expect((await world.client.listPassages('careful')).items).toHaveLength(1);
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

describe('Needs me, further', { timeout: 60_000 }, () => {
  test('an approval is revised by keyboard, and listed with what was decided', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    const wary = world.program(
      'wary',
      `async ({ messages, call }) => {
        if (messages[0].kind === 'request') await call('store_memory', { content: 'The sky is blue.\\u202e' }).catch(() => {});
        return 'fine';
      }`,
    );
    await world.client.createAgent({ name: 'wary', program: wary });
    await world.client.sendMessage('wary', { text: 'remember it' });
    // The failed run of before is above it.
    await page.getByRole('link', { name: /wary: may it call store_memory/ }).click();
    await page.getByRole('heading', { name: 'wary: may it call store_memory?' }).waitFor();
    // A character that turns text around is shown, not obeyed.
    await page.getByText('"content": "The sky is blue.\\u202e"').waitFor();
    await page.keyboard.press('v');
    await page.getByLabel('Arguments that you approve').fill('{ "content": "The sky is grey." }');
    await page.getByRole('button', { name: 'Approve these once' }).click();
    await page.getByRole('heading', { name: 'wary: may it call store_memory?' }).waitFor({ state: 'detached' });
    const { items } = await world.client.listQuestions({ open: false });
    expect(items.find(({ agent }) => agent === 'wary')).toMatchObject({
      outcome: 'revised',
      revisedArguments: { content: 'The sky is grey.' },
    });
    await page.getByRole('button', { name: 'Decided' }).click();
    await page
      .getByText(/revised by user/)
      .first()
      .waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });

  test('messages that were lost with a failed run are listed, and can be sent again', async () => {
    await world.client.createChannel({ id: 'lost', members: ['broken'] });
    const { page, problems, close } = await openPage(browser, world.client, { at: '/needs-me' });
    await world.client.postMessage('lost', { text: 'The keys are under the mat.' });
    const row = page.getByRole('link', { name: /broken: 1 message was lost/ });
    await row.waitFor({ timeout: 30_000 });
    const { items: failed } = await world.client.listRuns({ state: 'failed', agent: 'broken' });
    const { items: carried } = await world.client.listCarried(failed[0]?.id ?? '');
    expect(carried).toMatchObject([{ state: 'dead', request: null, text: 'The keys are under the mat.' }]);
    await row.click();
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByText('The keys are under the mat.').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await world.client.listMessages('broken')).items[0]?.text).toBe('The keys are under the mat.');
    expect(problems).toEqual([]);
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

  test('the agents of one project are shown, also after a reload', async () => {
    const site = mkdtempSync(join(tmpdir(), 'site-'));
    const project = { name: 'web-lead', provider: 'external', workspace: site };
    await world.client.createAgent(project);
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team' });
    const table = page.getByRole('table');
    await table.getByText('web-lead').waitFor();
    await page.getByLabel('Project').selectOption(site);
    await table.getByText('curious').waitFor({ state: 'detached' });
    await page.reload();
    await table.getByText('web-lead').waitFor();
    expect(await table.getByText('curious').count()).toBe(0);
    await page.getByLabel('Project').selectOption('All projects');
    await table.getByText('curious').waitFor();
    expect(problems).toEqual([]);
    await close();
    await world.client.terminateAgent('web-lead');
    rmSync(site, { recursive: true });
  });

  test('an agent is created, written to and terminated', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/team' });
    await page.getByRole('button', { name: 'New agent' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Name', exact: true }).fill('zoe');
    await form.getByLabel('Provider').selectOption('external');
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
