import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults, openBrowser } from '../helpers/browser.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';

let world: TestDaemon;
let browser: Browser;
let url: string;

beforeAll(async () => {
  [world, browser] = await Promise.all([
    startDaemon({ publicUrl: 'https://team.example.com/substrat', members: { ada: {} } }),
    openBrowser(),
  ]);
  url = (await world.client.getStatus()).url ?? '';
}, 60_000);

afterAll(async () => {
  await browser.close();
  await world.stop();
});

/** A browser of its own, at an address of the daemon itself: the proxy of `public_url` does not exist here. */
async function open(fragment: string): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${url}/#${fragment}`);
  return page;
}

describe('pairing a phone', { timeout: 60_000 }, () => {
  test('signs it in after its number was confirmed on the first screen', async () => {
    const { code } = await world.client.createLink();
    const first = await open(`code=${code}`);
    await first.locator('.live:not(.is-lost)').first().waitFor({ state: 'attached' });
    const [answer] = await Promise.all([
      first.waitForResponse((response) => response.url().endsWith('/api/pairings')),
      first.getByRole('button', { name: 'Pair a phone' }).click(),
    ]);
    const shown = (await answer.json()) as { url: string };
    expect(shown.url).toMatch(/^https:\/\/team\.example\.com\/substrat\/#pair=/);
    const dialog = first.getByRole('dialog', { name: 'Pair a phone' });
    await dialog.getByRole('img', { name: 'QR code' }).waitFor();
    expect(await findFaults(first)).toEqual([]);
    const phone = await open(shown.url.split('#')[1] ?? '');
    const number = await phone.getByRole('heading', { name: /Your number is/ }).textContent();
    expect(phone.url()).not.toContain('pair=');
    const check = /\d+/.exec(number ?? '')?.[0] ?? 'none';
    await dialog.getByText('Chrome on Linux').waitFor();
    expect(await phone.getByRole('navigation', { name: 'Pages' }).count()).toBe(0);
    await dialog.getByRole('button', { name: `It shows ${check}: sign it in` }).click();
    await dialog.getByText('The phone is signed in.').waitFor();
    await phone.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
    const { items } = await world.client.listTokens();
    expect(items.at(-1)).toMatchObject({ kind: 'phone', as: 'user' });
    await first.context().close();
    await phone.context().close();
  });

  test('a refused phone stays outside', async () => {
    const { code } = await world.client.createLink();
    const first = await open(`code=${code}`);
    await first.locator('.live:not(.is-lost)').first().waitFor({ state: 'attached' });
    const [answer] = await Promise.all([
      first.waitForResponse((response) => response.url().endsWith('/api/pairings')),
      first.getByRole('button', { name: 'Pair a phone' }).click(),
    ]);
    const phone = await open(((await answer.json()) as { url: string }).url.split('#')[1] ?? '');
    await first.getByRole('button', { name: 'Refuse' }).click();
    await phone.getByText('Run substrat page').first().waitFor();
    expect(await phone.evaluate('Object.keys(localStorage).some((key) => key.endsWith(":session"))')).toBe(false);
    await first.context().close();
    await phone.context().close();
  });
});

describe('installing the page', { timeout: 60_000 }, () => {
  test('the browser finds nothing wrong with the manifest, and its icons have their sizes', async () => {
    const page = await open('');
    const session = await page.context().newCDPSession(page);
    const { errors, data } = await session.send('Page.getAppManifest');
    expect(errors).toEqual([]);
    const manifest = JSON.parse(data ?? '{}') as { icons: { src: string; sizes: string; type: string }[] };
    for (const { src, sizes, type } of manifest.icons) {
      const { status, headers } = await ask({ url }, new URL(src, `${url}/`).pathname);
      expect([src, status, headers['content-type']]).toEqual([src, 200, type]);
      if (sizes === 'any') continue;
      const width = await page.evaluate(
        `new Promise((done) => { const picture = new Image(); picture.onload = () => done(picture.naturalWidth + 'x' + picture.naturalHeight); picture.src = '${src}'; })`,
      );
      expect([src, width]).toEqual([src, sizes]);
    }
    expect(manifest.icons.map(({ sizes }) => sizes)).toEqual(expect.arrayContaining(['192x192', '512x512']));
    await page.context().close();
  });

  test('nothing of it can register a worker, which would outlive the daemon at this address', async () => {
    const page = await open('');
    const refused = await page.evaluate(
      "navigator.serviceWorker.register('./assets/x.js').then(() => 'registered', (error) => error.name)",
    );
    // By Trusted Types or by the policy, whichever looks first.
    expect(refused).toMatch(/^(TypeError|SecurityError)$/);
    const { headers } = await ask({ url }, '/');
    expect(headers['content-security-policy']).toContain("worker-src 'none'");
    await page.context().close();
  });
});
