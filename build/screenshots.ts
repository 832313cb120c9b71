// Makes the pictures of the page in docs/ and a short recording from a real run: `npm run screenshots`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openBrowser, openPage } from '../test/helpers/browser.ts';
import { startDaemonProcess } from '../test/helpers/substrat.ts';
import { until } from '../test/helpers/until.ts';
import { animate, type Frame } from './animation.ts';

const docs = join(import.meta.dirname, '../docs');
const directory = mkdtempSync(join(tmpdir(), 'pictures-'));
/** Pictures of the recording: so often, and shown for at most so long. */
const EVERY_MS = 200;
const LONGEST_MS = 2500;
const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');

/** A small team: ada asks ben for numbers and a person for a decision. */
const PROGRAM = `import { runAgent } from '${SCRIPTED}';
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await runAgent(async ({ name, messages, call, say, usage }) => {
  if (name === 'ben') {
    usage({ inputTokens: 9100, outputTokens: 420, costUsd: 0.09 });
    await pause(600);
    return '214 tests pass.\\n\\n\`\`\`sql\\ncreate table refund (\\n  id    uuid primary key,\\n  cents bigint not null check (cents > 0)   -- never a float\\n);\\n\`\`\`';
  }
  if (messages[0].kind === 'reply' && messages[0].from === 'ben') {
    usage({ inputTokens: 14200, outputTokens: 310, costUsd: 0.14 });
    await call('send_message', { channelId: 'payments', text: 'ben is done: **214 tests pass**. The handler rejects late events with \`409\`.' });
    return 'The handler is ready.';
  }
  if (messages[0].kind === 'reply') {
    usage({ inputTokens: 9900, outputTokens: 120, costUsd: 0.1 });
    await call('send_message', { channelId: 'payments', text: 'Decided: **' + messages[0].text + '**. I go on.' });
    return 'Thank you.';
  }
  usage({ inputTokens: 12400, outputTokens: 380, costUsd: 0.12 });
  say('I plan the refund webhook and ask ben for the handler.');
  await pause(900);
  await call('send_message', { channelId: 'payments', text: 'Refund webhook: @ben takes the handler. Nobody pushes to \`main\` without @user.' });
  await call('spawn_agent', { name: 'ben', instructions: 'You write the handler.' }).catch(() => {});
  usage({ inputTokens: 13100, outputTokens: 210, costUsd: 0.13 });
  await call('send_message', { recipient: 'ben', text: 'Please write the handler and its tests.', sync: true });
  await call('ask_person', { question: 'How long may a refund be asked for?', options: ['30 days', '60 days'], details: 'The terms say 30 days; I propose **60 days**.' });
  return 'I asked and wait.';
});
`;

const program = join(directory, 'team.ts');
writeFileSync(program, PROGRAM);
const daemon = await startDaemonProcess({ home: join(directory, 'home') });
const browser = await openBrowser();
try {
  const { client } = daemon;
  await client.createAgent({ name: 'ada', program, role: 'lead' });
  await client.createChannel({ id: 'payments', topic: 'Refund webhook, release on Thursday', members: ['ada'] });
  await record();
  const run = (await client.listRuns({ agent: 'ada' })).items.at(-1);
  await client.sendMessage('ada', { text: 'What do you need from me?' });
  await until('a question', async () => (await client.listQuestions()).items[0] ?? null);
  const views = [
    ['talk', '/talk/payments', 'light'],
    ['needs-me', '/needs-me', 'light'],
    ['team', '/team', 'dark'],
    ['run', `/runs/${run?.id}/trace`, 'dark'],
  ] as const;
  for (const [name, at, colorScheme] of views) {
    const { page, close } = await openPage(browser, client, { at, colorScheme });
    // Long enough for everything that the page reads.
    await page.waitForTimeout(1000);
    await page.screenshot({ path: join(docs, `page-${name}.png`) });
    await close();
  }
} finally {
  await browser.close();
  await daemon.stop();
  rmSync(directory, { recursive: true, force: true });
}

/** A person asks for something, the team works, and the person answers its question. */
async function record(): Promise<void> {
  const { page, close } = await openPage(browser, daemon.client, {
    at: '/talk/payments',
    colorScheme: 'light',
    viewport: { width: 1100, height: 640 },
  });
  const field = page.getByRole('textbox', { name: 'Message #payments' });
  await field.waitFor();
  const frames = await film(page, async () => {
    await field.pressSequentially('Please plan the refund webhook, @ada.', { delay: 40 });
    await page.keyboard.press('Enter');
    const dock = page.getByRole('region', { name: 'Question that waits' });
    const answer = dock.getByRole('button', { name: '60 days' });
    await answer.waitFor({ timeout: 30_000 });
    await page.waitForTimeout(1500);
    await answer.click();
    await page.getByText('Decided: 60 days').waitFor({ timeout: 30_000 });
    await page.waitForTimeout(2000);
  });
  writeFileSync(join(docs, 'page-recording.png'), animate(frames));
  await close();
}

/** Pictures of the page while something is done; what does not change is one picture. */
async function film(page: Page, act: () => Promise<void>): Promise<Frame[]> {
  const taken: { readonly png: Buffer; readonly at: number }[] = [];
  const acting = act().finally(() => {
    done = true;
  });
  let done = false;
  while (!done) {
    const png = await page.screenshot({ caret: 'initial' });
    if (!taken.at(-1)?.png.equals(png)) taken.push({ png, at: performance.now() });
    await page.waitForTimeout(EVERY_MS);
  }
  await acting;
  return taken.map(({ png, at }, i) => {
    const next = taken[i + 1]?.at;
    return { png, ms: next === undefined ? LONGEST_MS : Math.min(LONGEST_MS, Math.round(next - at)) };
  });
}
