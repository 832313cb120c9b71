import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { obedient } from '../fake-model/mind.ts';
import { type FakeModel, startFakeModel } from '../fake-model/server.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { launcher, runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

let model: FakeModel;
let daemon: TestDaemon;
beforeEach(async () => {
  model = await startFakeModel({ key: 'k', mind: obedient });
  const config = `[providers.llm]\nmodel = "fake/m"\nendpoints.fake = { base_url = "${model.url}/v1", api_key = "k", dialect = "chat" }\n`;
  daemon = await startDaemon({ config, members: { ann: { provider: 'llm' } } });
});
afterEach(async () => {
  await daemon.stop();
  await model.close();
});

/** A chat whose lines come through a pipe. */
function openChat(...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', HOME: daemon.home, SUBSTRAT_HOME: daemon.home };
  const chat = spawn(launcher, ['chat', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let seen = '';
  for (const stream of [chat.stdout, chat.stderr]) stream.on('data', (chunk) => (seen += chunk));
  return {
    type: (line: string) => chat.stdin.write(`${line}\n`),
    shows: (text: string) => until(text, () => seen.includes(text)),
    interrupt: () => chat.kill('SIGINT'),
    leave: async () => {
      chat.stdin.end();
      const [code] = await once(chat, 'close');
      return { code, seen };
    },
  };
}

test('a chat shows each answer once, and the calls of a turn', async () => {
  const chat = openChat();
  chat.type('Good morning.');
  await chat.shows('I heard 1: Good morning.');
  chat.type('[[call list_agents {}]]');
  await chat.shows('list_agents {}');
  chat.type('And?');
  await chat.shows('And?');
  const { code, seen } = await chat.leave();
  expect(code).toBe(0);
  expect(seen.match(/ann: I heard 1: Good morning\./g)).toHaveLength(1);
  expect(seen.match(/And\?/g)).toHaveLength(1);
});

test('a question of the agent is answered by the next line, and its work goes on', async () => {
  const chat = openChat('ann');
  chat.type('[[call send_message {"recipient": "USER", "text": "Which one?", "sync": true}]]');
  await chat.shows('Which one?');
  chat.type('the red one');
  await chat.shows('the red one');
  expect((await chat.leave()).code).toBe(0);
});

test('Ctrl-C stops waiting, not the chat; a second one leaves', async () => {
  const chat = openChat('ann');
  chat.type('[[hang]]');
  await chat.shows('Chat with ann');
  await until('the turn', async () => (await daemon.client.getAgent('ann')).state === 'busy');
  chat.interrupt();
  await chat.shows('The answer will be in');
  chat.interrupt();
  expect((await chat.leave()).code).toBe(0);
});

test('without a name, a chat needs exactly one root agent', async () => {
  await daemon.client.createAgent({ name: 'ben', provider: 'external' });
  const { code, stderr } = await runSubstrat(['chat'], { home: daemon.home });
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'substrat: Name one of your agents: ann, ben.\n' });
});

test('send --wait shows on stderr what the agent does for the request, and only the answer on stdout', async () => {
  model.become(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { text: 'Done.' }
      : { text: 'I will look.', calls: [{ name: 'run_command', arguments: { command: 'echo hi' } }] },
  );
  const { home } = daemon;
  const { stderr, ...rest } = await runSubstrat(['agent', 'send', 'ann', 'Look.', '--wait'], { home });
  expect(rest).toEqual({ code: 0, stdout: 'Done.\n' });
  expect(stderr).toMatch(/^I will look\.\n> run_command \{"command":"echo hi"\}\n(Done\.\n)?$/);
  const quiet = await runSubstrat(['agent', 'send', 'ann', 'Again.', '--wait', '--quiet'], { home });
  expect(quiet).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
});

test('Ctrl-C during send --wait says where the answer will be', async () => {
  const env = { PATH: process.env.PATH ?? '', HOME: daemon.home, SUBSTRAT_HOME: daemon.home };
  const sending = spawn(launcher, ['agent', 'send', 'ann', '[[hang]]', '--wait'], { env });
  let seen = '';
  sending.stderr.on('data', (chunk) => (seen += chunk));
  await until('the turn', async () => model.hanging() === 1);
  sending.kill('SIGINT');
  const [, signal] = await once(sending, 'close');
  const { items } = await daemon.client.listMessages('ann');
  expect(signal).toBe('SIGINT');
  expect(seen).toContain(`Its answer will be in \`substrat inbox show ${items[0]?.messageId.slice(-6)}\`.`);
});

test('watch --live names the agent with each line', async () => {
  const env = { PATH: process.env.PATH ?? '', HOME: daemon.home, SUBSTRAT_HOME: daemon.home };
  const watching = spawn(launcher, ['watch', '--live'], { env });
  let seen = '';
  watching.stdout.on('data', (chunk) => (seen += chunk));
  await until('a call', async () => {
    const { messageId } = await daemon.client.sendMessage('ann', { text: '[[call list_agents {}]]' });
    await daemon.client.awaitReply(messageId, 20);
    return seen.includes('ann: > list_agents {}\n');
  });
  watching.kill('SIGINT');
  expect(await once(watching, 'close')).toEqual([0, null]);
});
