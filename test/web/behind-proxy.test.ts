import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';

const PREFIX = '/substrat';
let world: TestDaemon;
let browser: Browser;
let proxy: Server;
let daemonUrl = '';
let publicUrl = '';
/** What the page asked for outside of its prefix. */
const outside: string[] = [];

beforeAll(async () => {
  // Removes the prefix and keeps the Host, as docs/web.md asks of a proxy.
  proxy = createServer((from, to) => {
    const url = from.url ?? '';
    if (!url.startsWith(`${PREFIX}/`)) {
      outside.push(url);
      return void to.writeHead(404).end();
    }
    const { method, headers } = from;
    const forwarded = request(new URL(url.slice(PREFIX.length), daemonUrl), { method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    forwarded.on('error', () => to.destroy());
    to.on('close', () => forwarded.destroy());
    from.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  publicUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PREFIX}`;
  [world, browser] = await Promise.all([startDaemon({ publicUrl }), openBrowser()]);
  daemonUrl = (await world.client.getStatus()).url ?? '';
  await world.client.createChannel({ id: 'general' });
}, 60_000);

afterAll(async () => {
  await browser.close();
  proxy.closeAllConnections();
  proxy.close();
  await world.stop();
});

test('the page works under the path prefix of public_url, live and after a reload', { timeout: 60_000 }, async () => {
  expect((await world.client.createLink()).url).toMatch(`${publicUrl}/#code=`);
  const { page, problems, close } = await openPage(browser, world.client);
  await page.evaluate("location.hash = '/talk/general'");
  const field = page.getByRole('textbox', { name: 'Message #general' });
  await field.fill('through the proxy');
  await field.press('Enter');
  const log = page.getByRole('log');
  await log.getByText('through the proxy').waitFor();
  await world.client.postMessage('general', { text: 'and back' });
  await log.getByText('and back').waitFor();
  await page.reload();
  await log.getByText('and back').waitFor();
  // A page that loads its own part.
  await page.evaluate("location.hash = '/team'");
  await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
  expect(page.url()).toBe(`${publicUrl}/#/team`);
  const kept = await page.evaluate<string[]>('Object.keys(localStorage)');
  expect(kept.filter((name) => !name.startsWith(`substrat:${publicUrl}:`))).toEqual([]);
  expect(outside).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});
