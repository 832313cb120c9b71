import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const NAMES = ['ann', 'ben', 'cleo', 'dan'];
const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');

test('a daemon killed after a post, and between two turns, keeps the order, and nobody answers twice', {
  timeout: 120_000,
}, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'crash-'));
  const home = join(cwd, 'home');
  mkdirSync(home, { mode: 0o700 });
  const program = join(cwd, 'agent.ts');
  writeFileSync(
    program,
    `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ name, messages, call }) => {
  const heard = messages.filter(({ kind }) => kind === 'news').map(({ text }) => text).join(' and ');
  await call('send_message', { channelId: 'general', text: name + ' heard ' + heard });
});
`,
  );
  const members = NAMES.map((name) => `[members.${name}]\nprogram = "agent.ts"\n`).join('');
  writeFileSync(
    join(cwd, 'substrat.toml'),
    `[daemon]\nmax_deaths = 0\ndefault_provider = "scripted"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n${members}[channels.general]\nmembers = ${JSON.stringify(NAMES)}\n`,
  );
  let daemon = await startDaemonProcess({ home, config: join(cwd, 'substrat.toml') });
  onTestFinished(async () => {
    await daemon.kill();
    rmSync(cwd, { recursive: true, force: true });
  });
  const client = createClient({ home });
  const said = async () =>
    (await client.listChannelMessages('general')).items.map(({ from, text }) => `${from}: ${text}`).reverse();

  const expected: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const text = `number ${round}`;
    await client.postMessage('general', { text });
    expected.push(`user: ${text}`);
    // Immediately, then after the first, the second and the third answer.
    await until('as many answers as wanted', async () => (await said()).length >= expected.length + round);
    await daemon.kill();
    daemon = await startDaemonProcess({ home, config: join(cwd, 'substrat.toml') });
    expected.push(...NAMES.map((name) => `${name}: ${name} heard ${text}`));
    await until('all answers', async () => (await said()).length >= expected.length);
    expect(await said()).toEqual(expected);
  }
  await until('rest', async () => (await client.listAgents()).items.every(({ state }) => state === 'idle'));
  expect(await said()).toEqual(expected);
});
