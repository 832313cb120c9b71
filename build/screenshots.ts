// Makes the README's pictures of the page from a real run: `npm run screenshots`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBrowser, openPage } from '../test/helpers/browser.ts';
import { startDaemonProcess } from '../test/helpers/substrat.ts';
import { until } from '../test/helpers/until.ts';

const docs = join(import.meta.dirname, '../docs');
const directory = mkdtempSync(join(tmpdir(), 'pictures-'));
const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');

/** A small team: ada asks ben for numbers and a person for a decision. */
const PROGRAM = `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ name, messages, call }) => {
  if (name === 'ben') return '214 tests pass.\\n\\n\`\`\`sql\\ncreate table refund (\\n  id    uuid primary key,\\n  cents bigint not null check (cents > 0)   -- never a float\\n);\\n\`\`\`';
  if (messages[0].kind !== 'request') return 'Thank you. I go on with **' + messages[0].text + '**.';
  await call('send_message', { channelId: 'payments', text: 'Refund webhook: @ben takes the handler. Nobody pushes to \`main\` without @user.' });
  await call('spawn_agent', { name: 'ben', instructions: 'You write the handler.' }).catch(() => {});
  await call('send_message', { recipient: 'user', text: 'How long may a refund be asked for? The terms say 30 days; I propose **60 days**.', sync: true });
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
  await client.postMessage('payments', { text: 'Please plan the refund webhook, @ada.' });
  await client.sendMessage('ada', { text: 'What do you need from me?' });
  await until('a question', async () => (await client.listInbox({ open: true })).items[0] ?? null);
  const run = (await client.listRuns({ agent: 'ada' })).items.at(-1);
  const views = [
    ['talk', '/talk/payments', 'light'],
    ['needs-me', '/needs-me', 'light'],
    ['team', '/team', 'dark'],
    ['run', `/runs/${run?.id}`, 'dark'],
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
