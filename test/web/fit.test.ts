import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;
let browser: Browser;
let places: string[];

beforeAll(async () => {
  [world, browser] = await Promise.all([startDaemon({ members: { ada: {} } }), openBrowser()]);
  const echo = world.program('echo', "({ messages }) => 'You said: ' + messages.at(-1).text");
  await world.client.createAgent({ name: 'echo', program: echo });
  await world.client.createChannel({ id: 'general', topic: 'All of us', members: ['echo'] });
  const { messageId } = await world.client.sendMessage('echo', { text: 'Hello' });
  await until('the answer', () => world.client.awaitReply(messageId, 5));
  const run = (await world.client.listRuns({ agent: 'echo' })).items[0]?.id;
  places = [
    ...['talk/general', 'needs-me', 'team', 'team/echo', 'runs', `runs/${run}`, `runs/${run}/1`, `runs/${run}/trace`],
    ...[
      'memory',
      'knowledge',
      'knowledge/personas',
      'workspaces',
      'costs',
      'costs/report',
      'costs/health',
      'costs/log',
    ],
  ];
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

async function show(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = '/${place}'`);
  await page.locator('main h1').first().waitFor();
  await page.locator('.grey-lines').first().waitFor({ state: 'detached' });
}

describe('every page', { timeout: 120_000 }, () => {
  test('fits at 200 % and at 320 pixels: nothing scrolls sideways', async () => {
    // 200 % of a window of 1440 pixels has room for 720.
    const { page, problems, close } = await openPage(browser, world.client, {
      viewport: { width: 720, height: 450 },
      deviceScaleFactor: 2,
    });
    for (const width of [720, 320]) {
      await page.setViewportSize({ width, height: 450 });
      for (const place of places) {
        await show(page, place);
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([place, width, over]).toEqual([place, width, 0]);
      }
    }
    expect(problems).toEqual([]);
    await close();
  });

  test('axe finds nothing in high contrast', async () => {
    const { page, close } = await openPage(browser, world.client, { contrast: 'more' });
    for (const [i, place] of places.entries()) {
      // Each in one of them: the other tests look at both without more contrast.
      await page.emulateMedia({ colorScheme: i % 2 === 0 ? 'light' : 'dark' });
      await show(page, place);
      expect([place, await findFaults(page)]).toEqual([place, []]);
    }
    await close();
  });
});

describe('without a pointer', { timeout: 60_000 }, () => {
  test('one writes a message, opens an agent and goes back, and always sees where one is', async () => {
    const { page, problems, close } = await openPage(browser, world.client, { at: '/talk/general' });
    const field = page.getByRole('textbox', { name: 'Message #general' });
    await field.waitFor();
    const tabTo = async (what: string): Promise<void> => {
      for (let presses = 0; presses < 120; presses += 1) {
        await page.keyboard.press('Tab');
        const { name, ring } = await page.evaluate<{ name: string; ring: boolean }>(`{
          const at = document.activeElement;
          const style = getComputedStyle(at);
          const box = at.closest('.box');
          ({
            name: (at.getAttribute('aria-label') ?? at.textContent ?? '').trim(),
            ring: style.outlineStyle !== 'none' || (box !== null && getComputedStyle(box).boxShadow !== 'none'),
          });
        }`);
        expect([name, ring]).toEqual([name, true]);
        if (name.startsWith(what)) return;
      }
      throw new Error(`Tab never came to "${what}".`);
    };
    await page.evaluate('document.activeElement.blur()');
    await tabTo('Skip to the page');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await tabTo('Message #general');
    await page.keyboard.type('By keyboard alone');
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('By keyboard alone').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('echo');
    await page.getByRole('option', { name: /^echo agent/ }).waitFor();
    while ((await page.getByRole('option', { selected: true }).textContent()) !== 'echoagent')
      await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'echo' }).waitFor();
    await page.evaluate('document.getElementById("main").focus()');
    await tabTo('Close');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'echo' }).waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});
