import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Client } from '../../src/client/client.ts';

/** Flags of that Chromium that are for functions in the cloud: one process, and an own idea of headless. */
const NOT_OURS = /^--(single-process|headless|user-agent|no-zygote)/;

/** A real Chromium with a directory of its own; closing it removes the directory. */
export async function openBrowser(): Promise<Browser> {
  const directory = mkdtempSync(join(tmpdir(), 'browser-'));
  const executablePath = await sparticuz.executablePath();
  const args = sparticuz.args.filter((flag) => !NOT_OURS.test(flag));
  const browser = await chromium.launch({
    executablePath,
    args,
    headless: true,
    env: { ...process.env, TMPDIR: directory, HOME: directory },
  });
  browser.on('disconnected', () => rmSync(directory, { recursive: true, force: true }));
  return browser;
}

export interface OpenedPage {
  readonly page: Page;
  /** What the page did wrong: errors, refused by its own policy, or asked of another host. */
  readonly problems: string[];
  close(): Promise<void>;
}

/** A person in a browser of their own, signed in by a link. */
export async function openPage(
  browser: Browser,
  client: Client,
  { as, at = '', ...options }: { readonly as?: string; readonly at?: string } & BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const problems: string[] = [];
  const { url } = await client.createLink(as === undefined ? {} : { as });
  const { origin } = new URL(url ?? '');
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (line) => {
    // A refused request and a daemon that is away are shown by the page itself.
    if (line.type() === 'error' && !/Failed to load resource|ERR_/.test(line.text())) problems.push(line.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`asked for ${request.url()}`);
  });
  await page.goto(url ?? '');
  await page.locator('.live:not(.is-lost)').first().waitFor({ state: 'attached' });
  if (at !== '') await page.goto(`${origin}/#${at}`);
  return { page, problems, close: () => context.close() };
}

/** What axe finds wrong on the page as it is now. */
export async function findFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found: { id: string; nodes: { html: string; failureSummary: string }[] }[] = await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
