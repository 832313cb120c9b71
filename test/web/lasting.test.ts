import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';

const run = promisify(execFile);
const CTX = join(import.meta.dirname, '../../src/ctx/main.ts');

let browser: Browser;
let directory: string;
let where: { home: string; config: string };
let daemon: Awaited<ReturnType<typeof startDaemonProcess>>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lasting-'));
  where = { home: join(directory, 'home'), config: join(directory, 'substrat.toml') };
  mkdirSync(join(directory, 'docs'));
  mkdirSync(where.home, { mode: 0o700 });
  writeFileSync(join(directory, 'docs/deploy.md'), '# Deploying\n\nRun the deploy script with foo-bar.\n');
  writeFileSync(
    where.config,
    `[server]\nbind = "127.0.0.1:${await freePort()}"\n[sandbox]\nmode = "none"\n[connectors.filesystem.docs]\nroot = "docs"\n`,
  );
  await run(process.execPath, [CTX, '--config', where.config, 'sync'], {
    env: { ...process.env, SUBSTRAT_HOME: where.home },
  });
  [daemon, browser] = await Promise.all([startDaemonProcess(where), openBrowser()]);
  await daemon.client.createAgent({ name: 'ada', provider: 'external' });
  await daemon.client.createChannel({ id: 'general' });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await daemon.stop();
  rmSync(directory, { recursive: true });
});

describe('a page that stays open', { timeout: 60_000 }, () => {
  test('loses and doubles nothing when the daemon is killed and comes back', async () => {
    const { page, close } = await openPage(browser, daemon.client, { at: '/talk/general' });
    await daemon.client.postMessage('general', { text: 'before' });
    const log = page.getByRole('log');
    await log.getByText('before', { exact: true }).waitFor();
    await daemon.kill();
    await page.getByText('Reconnecting').first().waitFor();
    const field = page.getByRole('textbox', { name: 'Message #general' });
    await field.fill('written while it was away');
    await field.press('Enter');
    await page.getByText('Not sent.').waitFor();
    expect(await field.inputValue()).toBe('written while it was away');
    daemon = await startDaemonProcess(where);
    await daemon.client.postMessage('general', { text: 'after' });
    await log.getByText('after', { exact: true }).waitFor({ timeout: 20_000 });
    await page.getByRole('button', { name: 'Send again' }).click();
    await log.getByText('written while it was away').waitFor();
    await expect.poll(() => field.inputValue()).toBe('');
    const { items } = await daemon.client.listChannelMessages('general');
    expect(items.map(({ text }) => text).reverse()).toEqual(['before', 'after', 'written while it was away']);
    expect(await log.getByRole('article').count()).toBe(3);
    await close();
  });

  test('sends a message once, although it is reloaded before the answer comes and sends it again', async () => {
    const { page, problems, close } = await openPage(browser, daemon.client, { at: '/talk/general' });
    const field = page.getByRole('textbox', { name: 'Message #general' });
    const isPost = (url: URL): boolean => url.pathname.endsWith('/api/channels/general/messages');
    const keys: (string | undefined)[] = [];
    let isPosted = false;
    await page.route(isPost, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(route.request().headers()['idempotency-key']);
      // The daemon has it; the page never hears of it.
      if (keys.length > 1) return route.continue();
      await route.fetch();
      isPosted = true;
    });
    await field.fill('said once');
    await field.press('Enter');
    await expect.poll(() => isPosted).toBe(true);
    await page.reload();
    await expect.poll(() => field.inputValue(), { timeout: 10_000 }).toBe('said once');
    await field.press('Enter');
    await expect.poll(() => field.inputValue()).toBe('');
    expect(keys[1]).toBe(keys[0]);
    const times = async (text: string): Promise<number> =>
      (await daemon.client.listChannelMessages('general')).items.filter((item) => item.text === text).length;
    expect(await times('said once')).toBe(1);
    // The same words again are another message.
    await field.fill('said once');
    await field.press('Enter');
    await expect.poll(() => times('said once')).toBe(2);
    expect(problems).toEqual([]);
    await close();
  });

  test('shares one stream among the tabs of a browser, which outlives the tab that read it', async () => {
    const first = await openPage(browser, daemon.client, { at: '/talk/general' });
    const second = await first.page.context().newPage();
    let streams = 0;
    second.on('request', (request) => {
      if (request.url().includes('/api/events')) streams += 1;
    });
    await second.goto(first.page.url());
    await second.getByRole('log').getByText('after', { exact: true }).waitFor();
    await daemon.client.postMessage('general', { text: 'for both' });
    await second.getByText('for both').waitFor();
    await first.page.getByText('for both').waitFor();
    expect(streams).toBe(0);
    await first.page.close();
    await expect.poll(() => streams, { timeout: 10_000 }).toBe(1);
    await daemon.client.postMessage('general', { text: 'for the one that is left' });
    await second.getByText('for the one that is left').waitFor();
    await first.close();
  });
});

describe('memory and knowledge', { timeout: 60_000 }, () => {
  test('a block that somebody else changed meanwhile is not overwritten: both versions are shown', async () => {
    await daemon.client.setBlock('ada', 'plan', 'Ship on Thursday.\n');
    const { page, problems, close } = await openPage(browser, daemon.client, { at: '/memory/ada/plan' });
    const field = page.getByRole('textbox', { name: 'Text of plan' });
    await expect.poll(() => field.inputValue(), { timeout: 10_000 }).toBe('Ship on Thursday.\n');
    await field.fill('Ship on Friday.\n');
    await daemon.client.setBlock('ada', 'plan', 'Ship on Monday.\n');
    await page.getByText('Someone else changed this block').waitFor();
    const difference = page.getByLabel('Theirs and yours');
    expect(await difference.textContent()).toContain('- Ship on Monday.');
    expect(await difference.textContent()).toContain('+ Ship on Friday.');
    expect(await findFaults(page)).toEqual([]);
    expect((await daemon.client.getBlock('ada', 'plan')).text).toBe('Ship on Monday.\n');
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await page.getByText('Saved as version 3').waitFor();
    expect((await daemon.client.getBlock('ada', 'plan')).text).toBe('Ship on Friday.\n');
    expect(problems).toEqual([]);
    await close();
  });

  test('a search finds a document as one types, and shows what matched', async () => {
    const { page, problems, close } = await openPage(browser, daemon.client, { at: '/knowledge' });
    await page.getByText('filesystem:docs').waitFor();
    await page.getByRole('searchbox').fill('deploy script');
    await page.getByRole('link', { name: /Deploying/ }).click();
    const pane = page.getByRole('complementary', { name: 'Document' });
    expect(await pane.locator('mark').first().textContent()).toMatch(/deploy/i);
    expect(await findFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });

  test.each(['/costs', '/workspaces', '/memory', '/knowledge/personas'])(
    '%s: axe finds nothing, on a phone either',
    async (at) => {
      const { page, problems, close } = await openPage(browser, daemon.client, { at });
      await page.locator('main h1').waitFor();
      await page.locator('.grey-lines').first().waitFor({ state: 'detached' });
      expect(await findFaults(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      expect(await findFaults(page)).toEqual([]);
      expect(problems).toEqual([]);
      await close();
    },
  );
});

/** Not from the range that the kernel takes for connections: while the daemon is down, another test's could get it. */
async function freePort(): Promise<number> {
  const port = randomInt(10_000, 32_768);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!isFree) return freePort();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
