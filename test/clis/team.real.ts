import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Mind } from '../fake-model/model.ts';
import { startFakeModel } from '../fake-model/server.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';
import { install } from './installed.ts';
import { CLAUDE, CODEX, PI } from './pinned.ts';

const WORKERS = { reader: 'codex', writer: 'pi', tester: 'llm' };

/** The lead asks its workers once, and reports what they told it. Each worker has a mark; one of them is slow. */
function team(isSlow: () => boolean): Mind {
  return ({ body, tools, messages }) => {
    const said = JSON.stringify(body);
    const name = ['lead', ...Object.keys(WORKERS)].find((one) => said.includes(`You are ${one} (`));
    if (name !== 'lead') return name === 'reader' && isSlow() ? 'hang' : { text: `MARK-${name}` };
    const send = tools.find((tool) => tool.endsWith('send_message')) ?? '';
    const ask = (recipient: string) => ({ name: send, arguments: { recipient, text: `Do your part, ${recipient}.` } });
    const hasAsked = messages.some(({ role }) => role === 'tool');
    if (!hasAsked) return { calls: Object.keys(WORKERS).map(ask) };
    return { text: `told: ${[...new Set(said.match(/MARK-\w+/g))].sort().join(' ')}` };
  };
}

test('a lead on claude asks workers on codex, pi and a model; killed in the middle, one answer reaches the person', async () => {
  const [claude, codex, pi] = await Promise.all([CLAUDE, CODEX, PI].map(install));
  const directory = mkdtempSync(join(tmpdir(), 'team-'));
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  let isSlow = true;
  const model = await startFakeModel({ key: 'k', mind: team(() => isSlow) });
  const config = join(directory, 'substrat.toml');
  const openai = `env = { OPENAI_API_KEY = "k", OPENAI_BASE_URL = "${model.url}/v1" }`;
  writeFileSync(
    config,
    `[server]
bind = "127.0.0.1:0"
[providers.claude]
command = ${JSON.stringify(claude)}
env = { ANTHROPIC_API_KEY = "k", ANTHROPIC_BASE_URL = "${model.url}" }
[providers.codex]
command = ${JSON.stringify(codex)}
${openai}
[providers.pi]
command = ${JSON.stringify(pi)}
mcp_adapter = ${JSON.stringify(join(dirname(pi ?? ''), '../pi-mcp-adapter'))}
${openai}
[providers.llm]
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
  await client.createAgent({ name: 'lead', provider: 'claude', model: 'mock-model' });
  for (const [name, provider] of Object.entries(WORKERS)) {
    const named = provider === 'llm' ? 'fake/mock-model' : 'mock-model';
    await client.createAgent({ name, parent: 'lead', provider, model: named });
  }
  const { messageId } = await client.sendMessage('lead', { text: 'Let everybody do their part.' });
  await until('a worker waits for its model', () => model.hanging() > 0, 60_000);
  await daemon.kill();
  isSlow = false;
  daemon = await startDaemonProcess({ home, config });
  expect((await client.awaitReply(messageId, 60))?.text).toBe('told: MARK-reader MARK-tester MARK-writer');
  expect((await client.listReplies(messageId)).items).toHaveLength(1);
  const { items: runs } = await client.listRuns({ limit: 50 });
  const { items: used } = await client.listUsage({ by: 'agent' });
  expect(used.map(({ of }) => of).sort()).toEqual(['lead', 'reader', 'tester', 'writer']);
  expect(used.map(({ grade }) => grade)).toEqual(used.map(() => 'metered'));
  expect(runs.every(({ state }) => state === 'completed')).toBe(true);
});
