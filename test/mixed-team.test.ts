import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { obedient } from './fake-model/mind.ts';
import { startFakeModel } from './fake-model/server.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const fixture = (name: string) => JSON.stringify(join(import.meta.dirname, 'fixtures', name));

test('a lead on one program asks workers on two others and a model; killed in the middle, one answer reaches the person', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mixed-'));
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  const model = await startFakeModel({ key: 'k', mind: obedient });
  const config = join(directory, 'substrat.toml');
  writeFileSync(
    config,
    `[server]
bind = "127.0.0.1:0"
[sandbox]
mode = "none"
[providers.claude]
command = ${fixture('claude.mjs')}
env = { STAND_IN_SCENARIO = "lead", ANTHROPIC_API_KEY = "k" }
[providers.codex]
command = ${fixture('codex.mjs')}
env = { STAND_IN_SCENARIO = "marked", OPENAI_API_KEY = "k" }
[providers.gemini]
command = ${fixture('gemini.mjs')}
env = { STAND_IN_SCENARIO = "answer", GEMINI_API_KEY = "k" }
[providers.llm]
model = "fake/m"
endpoints.fake = { base_url = "${model.url}/v1", api_key = "k", dialect = "chat" }
`,
  );
  let daemon = await startDaemonProcess({ home, config });
  onTestFinished(async () => {
    await daemon.stop();
    await model.close();
    rmSync(directory, { recursive: true });
  });
  const { client } = daemon;
  await client.createAgent({ name: 'lead', provider: 'claude' });
  for (const provider of ['codex', 'gemini', 'llm']) {
    await client.createAgent({ name: `on-${provider}`, parent: 'lead', provider });
  }
  const gate = join(directory, 'gate');
  const orders = ['codex', 'gemini', 'llm'].map((name) => `<<ask on-${name}: MARK-${name} (wait ${gate})>>`);
  const { messageId } = await client.sendMessage('lead', { text: orders.join(' ') });
  await until('a worker works', () => existsSync(`${gate}.awaited`));
  await daemon.kill();
  daemon = await startDaemonProcess({ home, config });
  writeFileSync(gate, '');
  expect((await client.awaitReply(messageId, 30))?.text).toBe('told: MARK-codex MARK-gemini MARK-llm');
  const { items } = await client.listReplies(messageId);
  expect(items).toHaveLength(1);
}, 60_000);
