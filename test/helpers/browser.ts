import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sparticuz from '@sparticuz/chromium';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Client } from '../../src/client/client.ts';

/** Flags of that Chromium that are for functions in the cloud: one process, and an own idea of headless. */
const NOT_OURS = /^--(single-process|headless|user-agent|no-zygote)/;

/** A real Chromium with a directory of its own; closing it removes the directory. */
export async function openBrowser(): Promise<Browser> {
  const directory = mkdtempSync(join(tmpdir(), 'browser-'));
  const executablePath = await unpackChromium();
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

const run = promisify(execFile);
const UNPACK = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";
const PACKAGE = join(import.meta.dirname, '../../node_modules/@sparticuz/chromium');

/**
 * Unpacks it once, completely or not at all: by default, the package unpacks into the directory for temporary files
 * and takes what is there, even while another test still writes it. A new version of the package is unpacked again.
 */
async function unpackChromium(): Promise<string> {
  const directory = join(PACKAGE, 'unpacked');
  const program = join(directory, 'chromium');
  if (existsSync(program)) return program;
  const unpacked = mkdtempSync(join(PACKAGE, 'unpacking-'));
  // In a process with that directory: this one has others' temporary files to make meanwhile.
  await run(process.execPath, ['--input-type=module', '--eval', UNPACK], {
    cwd: PACKAGE,
    env: { ...process.env, TMPDIR: unpacked },
  });
  try {
    renameSync(unpacked, directory);
  } catch (error) {
    // Another test was faster.
    if (!existsSync(program)) throw error;
    rmSync(unpacked, { recursive: true });
  }
  return program;
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
