import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from './helpers/daemon.ts';
import { runSubstrat } from './helpers/substrat.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');

/** Claude Code with a subscription: the account in LIMITED has used up its limit, others are played by the stand-in. */
const claude = (directory: string) => `#!${process.execPath}
import { appendFileSync } from 'node:fs';
const { ACCOUNT, LIMITED = '' } = process.env;
const limited = LIMITED.split(',').includes(ACCOUNT);
if (process.argv.includes('--version') || !limited) await import(${JSON.stringify(join(FIXTURES, 'claude.mjs'))});
else {
  appendFileSync(${JSON.stringify(join(directory, 'limited'))}, ACCOUNT + '\\n');
  const say = (event) => console.log(JSON.stringify({ session_id: 's', uuid: 'u', ...event }));
  say({ type: 'system', subtype: 'init', model: 'm' });
  const resetsAt = Math.round(Date.now() / 1000) + 7200;
  say({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt } });
  say({ type: 'result', subtype: 'success', is_error: true, api_error_status: 429, result: 'Usage limit reached.' });
}
`;

async function start(limited: string) {
  const world = await startDaemon({
    config: `[providers.claude]
command = "./claude.mjs"
env = { STAND_IN_SCENARIO = "answer", LIMITED = "${limited}" }
[providers.claude.accounts.home]
env = { ACCOUNT = "home", ANTHROPIC_API_KEY = "k" }
[providers.claude.accounts.work]
env = { ACCOUNT = "work" }
[providers.codex]
command = "${join(FIXTURES, 'codex.mjs')}"
env = { STAND_IN_SCENARIO = "answer", OPENAI_API_KEY = "k" }
`,
    files: {},
  });
  writeFileSync(join(world.directory, 'claude.mjs'), claude(world.directory), { mode: 0o755 });
  return world;
}

test('when one account has reached its limit, the program goes on with the other one', async () => {
  await using world = await start('home');
  const agent = await world.client.createAgent({ name: 'lead', provider: 'claude' });
  const { messageId } = await world.client.sendMessage(agent.id, { text: 'Hello.' });
  expect((await world.client.awaitReply(messageId, 30))?.text).toMatch(/^started: /);
  expect(await world.client.getAgent(agent.id)).toMatchObject({
    provider: 'claude',
    acting: { provider: 'claude', account: 'work' },
  });
  const { stdout } = await runSubstrat(['agent', 'inspect', 'lead'], { home: world.home });
  expect(stdout).toMatch(/^now run by +claude with the account work$/m);
}, 60_000);

test('when all accounts have reached their limit, another program takes over, and the person is told which', async () => {
  await using world = await start('home,work');
  const wish = { name: 'lead', provider: 'claude', fallback: ['qwen', 'codex'] };
  const agent = await world.client.createAgent(wish);
  const { messageId } = await world.client.sendMessage(agent.id, { text: 'Hello.' });
  expect((await world.client.awaitReply(messageId, 30))?.text).toMatch(/^started: .*Hello\./s);
  // qwen is not installed.
  expect(await world.client.getAgent(agent.id)).toMatchObject({ provider: 'claude', acting: { provider: 'codex' } });
  const { items } = await world.client.listMessages(agent.id);
  const notices = items.filter(({ kind }) => kind === 'notice').map(({ text }) => text);
  expect(notices).toHaveLength(2);
  expect(notices[0]).toMatch(
    /^codex \(OpenAI\) takes over for lead and gets its conversation\. claude \(Anthropic, account \w+\) has reached its limit until 20.*Usage limit reached\./,
  );
  expect(notices[1]).toMatch(/^lead continues with claude \(Anthropic, account \w+\)\./);
}, 60_000);
