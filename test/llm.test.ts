import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { obedient } from './fake-model/mind.ts';
import { type FakeModel, startFakeModel } from './fake-model/server.ts';
import { noBwrap } from './helpers/bwrap.ts';
import { startDaemon, storeRows } from './helpers/daemon.ts';
import { start } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

let model: FakeModel;
beforeEach(async () => {
  model = await startFakeModel({ key: 'SECRET-KEY', mind: obedient });
});
afterEach(() => model.close());

function config(dialect: string, more = ''): string {
  return `[providers.llm]
model = "fake/m"
${more}
[providers.llm.endpoints.fake]
base_url = "${model.url}/v1"
api_key = "SECRET-KEY"
dialect = "${dialect}"
`;
}

describe.each(['anthropic', 'responses', 'chat'])('an agent that is a model (%s)', (dialect) => {
  test('calls tools of Substrat, answers, and remembers; each model call is a step with its tokens', async () => {
    await using daemon = await startDaemon({ config: config(dialect), members: { ann: { provider: 'llm' }, ben: {} } });
    const { client } = daemon;
    const ask = async (text: string) => {
      const { messageId } = await client.sendMessage('ann', { text });
      return (await client.awaitReply(messageId, 20))?.text;
    };
    const told = await ask('[[call store_memory {"content":"The build is green."}]] [[call list_agents {}]]');
    expect(told).toContain('"passage');
    expect(await ask('And now?')).toMatch(/^I heard 2: /);
    const { items } = await client.listRuns({ agent: 'ann' });
    expect(items.map(({ usage }) => usage)).toEqual([
      { inputTokens: 100, outputTokens: 10, costUsd: 0, grade: 'metered' },
      { inputTokens: 300, outputTokens: 30, costUsd: 0, grade: 'metered' },
    ]);
    expect(await rolesIn(daemon.home)).toEqual([
      'user',
      'assistant 100',
      'tool',
      'assistant 100',
      'tool',
      'assistant 100',
      'user',
      'assistant 100',
    ]);
    // Calls of our tools are recorded once.
    const { messages: records } = await client.getRun(items[1]?.id ?? '');
    expect(records.filter(({ type }) => type === 'tool_call_message').map(({ tool }) => tool)).toEqual([
      'store_memory',
      'list_agents',
    ]);
  });
});

test('a request that does not fit into the budget is not sent; after a raise the turn goes on', async () => {
  await using daemon = await startDaemon({ config: config('anthropic'), members: { ann: { provider: 'llm' } } });
  const { client } = daemon;
  // The prompt of the run fits, with the instructions and the schemas of the tools it does not.
  await client.setBudget({ of: 'ann', unit: 'tokens', period: 'total', amount: 3_000 });
  const { messageId } = await client.sendMessage('ann', { text: 'Go.' });
  const question = await until('the question', async () => (await client.listQuestions()).items[0] ?? null);
  expect(question.subject).toMatch(/3,000 tokens in total is used up/);
  expect(model.requests).toEqual([]);
  const { items } = await client.listBudgets();
  expect(items.find(({ period }) => period === 'total')).toMatchObject({ used: 0, reserved: 0, waiting: 1 });
  expect((await client.getAgent('ann')).status).toMatchObject({
    kind: 'stopped',
    reason: expect.stringMatching(
      /has only 3,000 tokens left\. The next request to the model needs [\d,]+ tokens or more\.$/,
    ),
  });
  await client.answerQuestion(question.id, 'raise 100000');
  expect((await client.awaitReply(messageId, 20))?.text).toMatch(/^I heard 1: /);
  // What is left limits what the model may write.
  await client.setBudget({ of: 'ann', unit: 'tokens', period: 'total', amount: 5_000 });
  const second = await client.sendMessage('ann', { text: 'Again.' });
  expect((await client.awaitReply(second.messageId, 20))?.text).toMatch(/^I heard 2: /);
  const limits = model.requests.map(({ body }) => (body as { max_tokens: number }).max_tokens);
  expect(limits).toHaveLength(2);
  expect(limits[1]).toBeLessThan(limits[0] ?? 0);
});

describe.skipIf(noBwrap !== null)('in a sandbox', () => {
  test('the workspace tools see the workspace and not the key', async () => {
    await using daemon = await startDaemon({
      config: config('anthropic'),
      members: { ann: { provider: 'llm' } },
      sandbox: 'bwrap',
    });
    const look =
      'cat /proc/*/environ | tr "\\\\0" "\\\\n"; grep -rs SECRET.KEY ~ /tmp /etc /run .; echo made > made; id -u';
    const { messageId } = await daemon.client.sendMessage('ann', {
      text: `[[call run_command {"command":"${look.replaceAll('"', '\\"')}"}]]`,
    });
    const reply = await daemon.client.awaitReply(messageId, 30);
    expect(reply?.text).toContain('SUBSTRAT_RUN_ID=');
    expect(reply?.text).toContain('[exit code 0]');
    expect(reply?.text).not.toContain('SECRET-KEY');
    expect(readFileSync(join(daemon.agent('ann').workspace, 'made'), 'utf8')).toBe('made\n');
  });
});

test('a later attempt continues the conversation, and the same call again is a new one', async () => {
  const members = { ann: { provider: 'llm' } };
  await using daemon = await startDaemon({ config: config('responses', 'max_retries = 0'), members });
  const calls = [{ name: 'store_memory', arguments: { content: 'again' } }];
  const answers = [{ calls }, { status: 529, message: 'Overloaded: try again in 1s.' }, { calls }, { text: 'Twice.' }];
  model.become(() => answers[model.requests.length - 1] ?? { text: 'Too much.' });
  const { messageId } = await daemon.client.sendMessage('ann', { text: 'Go.' });
  expect((await daemon.client.awaitReply(messageId, 15))?.text).toBe('Twice.');
  const { passages } = await storeRows(daemon.home);
  expect(passages).toMatchObject([{ content: 'again' }, { content: 'again' }]);
  const roles = ['user', 'assistant 100', 'tool', 'assistant 100', 'tool', 'assistant 100'];
  expect(await rolesIn(daemon.home)).toEqual(roles);
});

test('a killed daemon continues the conversation: recorded calls have their result, others an unknown outcome', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'llm-kill-'));
  const [home, file] = [join(directory, 'home'), join(directory, 'substrat.toml')];
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(file, `${config('anthropic')}[sandbox]\nmode = "none"\n[server]\nbind = "127.0.0.1:0"\n`);
  const client = createClient({ home });
  let daemon: ChildProcess | null = null;
  onTestFinished(async () => {
    daemon?.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  const up = async () => {
    daemon = start(['up', '--quiet', '--config', file], { home });
    await until('the daemon answers', () => client.getStatus().catch(() => null));
  };
  const calls = [
    { name: 'store_memory', arguments: { content: 'once' } },
    { name: 'run_command', arguments: { command: 'touch begun; sleep 600' } },
    { name: 'store_memory', arguments: { content: 'never begun' } },
  ];
  model.become(({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { text: messages.flatMap(({ role, text }) => (role === 'tool' ? [text] : [])).join('\n') }
      : { calls },
  );
  await up();
  const ann = await client.createAgent({ name: 'ann', provider: 'llm' });
  const { messageId } = await client.sendMessage('ann', { text: 'Go.' });
  await until('the command', () => existsIn(ann.workspace, 'begun'));
  const gone = once(daemon as unknown as ChildProcess, 'exit');
  (daemon as unknown as ChildProcess).kill('SIGKILL');
  await gone;
  await up();
  const reply = await client.awaitReply(messageId, 20);
  expect(reply?.text.split('\n')).toEqual([
    expect.stringMatching(/^\{.*passage/),
    expect.stringMatching(/^Outcome unknown: the turn was interrupted/),
    'The turn was interrupted before this call. It has not been executed.',
  ]);
  // The step that was paid for is not repeated.
  expect(model.requests).toHaveLength(2);
  const { passages } = await storeRows(home);
  expect(passages).toMatchObject([{ content: 'once' }]);
  expect(await rolesIn(home)).toEqual(['user', 'assistant 100', 'tool', 'tool', 'tool', 'assistant 100']);
});

/** The messages of the only conversation, with the tokens of each model call. */
async function rolesIn(home: string): Promise<string[]> {
  const { conversation_entries: entries = [] } = await storeRows(home);
  const rows = entries as { n: number; role: string; input_tokens: number }[];
  return rows
    .sort((a, b) => a.n - b.n)
    .map(({ role, input_tokens }) => (input_tokens ? `${role} ${input_tokens}` : role));
}

function existsIn(directory: string, name: string): boolean {
  try {
    readFileSync(join(directory, name));
    return true;
  } catch {
    return false;
  }
}
