import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;
let browser: Browser;

beforeAll(async () => {
  [world, browser] = await Promise.all([startDaemon({ members: { ada: {} } }), openBrowser()]);
  const echo = world.program('echo', "({ messages }) => 'You said: ' + messages.at(-1).text");
  await world.client.createAgent({ name: 'echo', program: echo });
  await world.client.createChannel({ id: 'general', topic: 'All of us', members: ['ada'] });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

const say = (text: string, channel = 'general') => world.client.postMessage(channel, { text });

describe('signing in', { timeout: 60_000 }, () => {
  test('takes the code out of the address, and leaves a token of its own kind', async () => {
    const { page, problems, close } = await openPage(browser, world.client);
    expect(page.url()).not.toContain('code=');
    const { items } = await world.client.listTokens();
    expect(items.at(-1)).toMatchObject({ kind: 'page', as: 'user', label: expect.stringMatching(/Chrome/) });
    await page.reload();
    await page.getByRole('link', { name: 'general' }).first().waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test('asks before it takes another token', async () => {
    const { page, close } = await openPage(browser, world.client);
    const { url } = await world.client.createLink({ as: 'mallory' });
    // In the same tab only the fragment changes, so the page is loaded anew as a click on a link would do.
    await page.goto('about:blank');
    await page.goto(url ?? '');
    await page.getByText('You are signed in as user').waitFor();
    expect((await world.client.listTokens()).items.some(({ as }) => as === 'mallory')).toBe(false);
    await page.getByRole('button', { name: 'Use the link' }).click();
    await page.getByText('mallory').first().waitFor();
    await close();
  });

  test('ends when the person signs out, and when the token is revoked', async () => {
    const first = await openPage(browser, world.client);
    const mine = (await world.client.listTokens()).items.at(-1)?.id;
    await first.page.getByRole('button', { name: 'Sign out' }).click();
    await first.page.getByText('You are not signed in').waitFor();
    const token = (await world.client.listTokens()).items.find(({ id }) => id === mine);
    expect(token?.revokedAt).not.toBeNull();
    expect(await first.page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('session')))).toEqual(
      [],
    );
    const second = await openPage(browser, world.client);
    await world.client.revokeToken((await world.client.listTokens()).items.at(-1)?.id ?? '');
    await say('the stream ends with the next event');
    await second.page.getByText('Your sign-in was revoked').waitFor();
    await first.close();
    await second.close();
  });

  test('a used link says what to do', async () => {
    const { url } = await world.client.createLink();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url?.slice(0, -3)}xyz`);
    await page.getByText('Run substrat page').first().waitFor();
    await context.close();
  });

  test('other people see only what the API shows them', async () => {
    await world.client.createChannel({ id: 'secret', kind: 'private' });
    const { page, problems, close } = await openPage(browser, world.client, { as: 'anna' });
    await page.getByRole('link', { name: 'general' }).first().waitFor();
    expect(await page.getByRole('link', { name: 'secret' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Costs and health' }).count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });
});

describe('talking', { timeout: 60_000 }, () => {
  test("a person's message gets an answer, and a draft outlives the page", async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/general' });
    await world.client.sendMessage('echo', { text: 'hello' });
    await page.getByRole('navigation', { name: 'Channels' }).getByRole('link', { name: /echo/ }).click();
    const field = page.getByRole('textbox', { name: 'Message @echo' });
    await field.fill('half a thought');
    await page.reload();
    await expect.poll(() => field.inputValue(), { timeout: 10_000 }).toBe('half a thought');
    await field.fill('Are you there?');
    await field.press('Enter');
    await page.getByText('You said: Are you there?').waitFor();
    expect(await field.inputValue()).toBe('');
    expect(problems).toEqual([]);
    await close();
  });

  test('a mention is completed by keyboard or by a click, and Escape leaves what was typed', async () => {
    await world.client.createChannel({ id: 'mentions', members: ['ada', 'echo'] });
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/mentions' });
    const field = page.getByRole('textbox', { name: 'Message #mentions' });
    const list = page.getByRole('listbox', { name: 'Mention' });
    await page.getByText('3 members').waitFor();
    await field.pressSequentially('Dear @');
    expect(await list.getByRole('option').count()).toBe(3);
    expect(await findFaults(page)).toEqual([]);
    await field.press('ArrowDown');
    const second = (await list.getByRole('option', { selected: true }).textContent()) ?? '';
    expect(second).toBe(await list.getByRole('option').nth(1).textContent());
    await field.press('Enter');
    await expect.poll(() => field.inputValue()).toBe(`Dear ${second} `);
    await list.waitFor({ state: 'detached' });
    await field.pressSequentially('and @EC');
    await list.getByRole('option', { name: '@echo' }).click();
    await expect.poll(() => field.inputValue()).toBe(`Dear ${second} and @echo `);
    await field.pressSequentially('not @ad');
    await list.waitFor();
    await field.press('Escape');
    await list.waitFor({ state: 'detached' });
    // An address of mail is not a mention.
    await field.pressSequentially(' but mail@e');
    expect(await list.count()).toBe(0);
    await field.press('Enter');
    await page.getByRole('log').getByText('not @ad but mail@e').waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test('a second browser sees a message, an edit and a reaction at once', async () => {
    const mine = await openPage(browser, world.client, { at: '/talk/general' });
    const other = await openPage(browser, world.client, { at: '/talk/general', as: 'anna' });
    const { messageId } = await say('Who reacts?');
    const row = `#m-${messageId}`;
    await other.page.locator(row).hover();
    await other.page.locator(row).getByRole('button', { name: 'React' }).click();
    await other.page.locator(row).getByRole('button', { name: '👀', exact: true }).click();
    await mine.page.locator(row).getByRole('button', { name: '👀, 1' }).waitFor();
    await world.client.editMessage(messageId, 'Who has reacted?');
    await mine.page.getByText('Who has reacted?').waitFor();
    expect([...mine.problems, ...other.problems]).toEqual([]);
    await mine.close();
    await other.close();
  });

  test('a thread opens beside its message', async () => {
    const { messageId } = await say('The root');
    await world.client.postMessage('general', { text: 'A reply', parentMessageId: messageId });
    const { page, close } = await openPage(browser, world.client, { at: '/talk/general' });
    await page.getByRole('link', { name: /1 reply/ }).click();
    const pane = page.getByRole('complementary', { name: 'Thread' });
    await pane.getByText('A reply').waitFor();
    await pane.getByText(/^you, \d\d:\d\d$/).waitFor();
    await pane.getByRole('textbox', { name: 'Reply' }).fill('Another');
    await pane.getByRole('button', { name: 'Reply', exact: true }).click();
    await pane.getByText('2 replies').waitFor();
    await close();
  });

  test('hostile messages neither run, load, imitate nor hide anything', async () => {
    await world.client.createChannel({ id: 'hostile' });
    const attacks = [
      '<script>window.hacked = 1</script><img src="https://evil.example/x.png" onerror="window.hacked = 1">',
      '![pixel](https://evil.example/pixel.png) [safe](javascript:window.hacked=1) <svg onload="window.hacked=1"></svg>',
      '[https://bank.example](https://evil.example/login)',
      '<button class="btn main-act">Approve</button><div style="position:fixed;inset:0">x</div>',
      'evil \u202Etxt.exe\u202C zero\u200Bwidth',
      'x'.repeat(900_000),
    ];
    for (const text of attacks) await say(text, 'hostile');
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/hostile' });
    const log = page.getByRole('log');
    await log.getByText('U+202E').waitFor();
    expect(await page.evaluate("'hacked' in window")).toBe(false);
    expect(
      await log.locator('img, svg:not(.icon), script, iframe, .body button:not([data-copy]), [style]').count(),
    ).toBe(0);
    expect(await log.locator('.body a').evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
      'https://evil.example/pixel.png',
      'https://evil.example/login',
    ]);
    await log.getByText('(evil.example)').first().waitFor();
    await log.getByText('U+200B').waitFor();
    await log.getByRole('button', { name: 'Show all' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test('a long channel draws at most 300 messages, and never moves a reader', async () => {
    await world.client.createChannel({ id: 'long' });
    for (let i = 0; i < 450; i += 1) await say(`Message ${i}${i % 7 === 0 ? '\n\nwith\n\nmore lines' : ''}`, 'long');
    const { page, close } = await openPage(browser, world.client, { at: '/talk/long' });
    const log = page.getByRole('log');
    await log.getByText('Message 449').waitFor();
    const count = () => log.getByRole('article').count();
    for (let i = 0; i < 30; i += 1) {
      await log.evaluate((box) => box.scrollBy(0, -700));
      await page.evaluate('new Promise(requestAnimationFrame)');
      expect(await count()).toBeLessThanOrEqual(300);
    }
    await log.evaluate((box) => (box.scrollTop += 2000));
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const firstVisible = () =>
      log.evaluate((box) => {
        const edge = box.getBoundingClientRect().top;
        const row = [...box.querySelectorAll('article')].find((one) => one.getBoundingClientRect().bottom > edge);
        return [row?.id, Math.round(row?.getBoundingClientRect().top ?? 0)];
      });
    const before = await firstVisible();
    await world.client.postMessage('long', { text: 'News from below' });
    await until('the news is known', async () =>
      (await page.getByRole('button', { name: '1 new' }).count()) > 0 ? true : null,
    );
    expect(await firstVisible()).toEqual(before);
    await page.getByRole('button', { name: '1 new' }).click();
    await log.getByText('News from below').waitFor();
    await close();
  });

  test.each(['light', 'dark'] as const)('axe finds nothing, %s, wide and narrow', async (colorScheme) => {
    const { messageId } = await say('With `code` and a [link](https://example.com)\n\n```ts\nconst x = 1;\n```');
    await world.client.react(messageId, '👍');
    await world.client.postMessage('general', { text: 'A reply', parentMessageId: messageId });
    const { page, close } = await openPage(browser, world.client, { at: `/talk/general/${messageId}`, colorScheme });
    await page.locator(`#m-${messageId}`).first().waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findFaults(page)).toEqual([]);
    await close();
  });

  test('old messages are forgotten while one follows the newest, newer ones are only counted further up', {
    timeout: 120_000,
  }, async () => {
    await world.client.createChannel({ id: 'busy' });
    await say('the very first', 'busy');
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/busy' });
    const log = page.getByRole('log', { name: 'Messages in busy' });
    await log.getByText('the very first').waitFor();
    const read: string[] = [];
    page.on('request', (request) => {
      if (/\/channels\/busy\/messages\?/.test(request.url())) read.push(new URL(request.url()).search);
    });
    // One more than are kept.
    for (let i = 0; i < 1000; i += 20)
      await Promise.all(Array.from({ length: 20 }, (_, k) => say(`post ${i + k}`, 'busy')));
    await say('the last one', 'busy');
    await log.getByText('the last one').waitFor();
    await expect.poll(() => read, { timeout: 10_000 }).toContain('?limit=100');
    expect(await log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(48);
    for (let i = 0; i < 60 && (await log.getByText('the very first').count()) === 0; i += 1) {
      await log.press('Home');
      await page.waitForTimeout(100);
    }
    await log.getByText('the very first').waitFor();
    expect(read.filter((query) => query.includes('cursor=')).length).toBeGreaterThan(5);

    // A reader further up is not moved. Newer messages are counted, not kept, and read when the reader goes to the end.
    read.length = 0;
    const place = () => log.getByText('the very first').boundingBox();
    const before = await place();
    for (let i = 0; i < 3; i += 1) await say(`later ${i}`, 'busy');
    await page.getByRole('button', { name: '3 new' }).waitFor();
    for (let i = 3; i < 120; i += 13)
      await Promise.all(Array.from({ length: 13 }, (_, k) => say(`later ${i + k}`, 'busy')));
    expect(await place()).toEqual(before);
    expect(read).toEqual([]);
    await page.getByRole('button', { name: '120 new' }).click();
    await log.getByText('later 119', { exact: true }).waitFor();
    expect(read).toContain('?limit=100');
    expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0);
    // Nothing is missing in between.
    for (let i = 0; i < 20 && (await log.getByText('the last one').count()) === 0; i += 1) {
      await log.press('Home');
      await page.waitForTimeout(100);
    }
    const texts = await log.locator('article .body').allTextContents();
    const later = texts.map((text) => /^later (\d+)/.exec(text.trim())?.[1]).filter((text) => text !== undefined);
    expect(later.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: later.length }, (_, i) => i));
    expect(later.length).toBeGreaterThan(100);
    expect(problems).toEqual([]);
    await close();
  });
});
