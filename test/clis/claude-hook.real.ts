import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { obedient } from '../fake-model/mind.ts';
import { type FakeModel, startFakeModel } from '../fake-model/server.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { install } from './installed.ts';
import { CLAUDE } from './pinned.ts';

/** Between the daemon and the program: the answers of the hook arrive as errors. */
const BROKEN = `
const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');
const child = spawn(COMMAND, process.argv.slice(2), { stdio: ['pipe', 'inherit', 'inherit'] });
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { type, response } = JSON.parse(line);
  const isHook = type === 'control_response' && response.response?.hookSpecificOutput;
  const error = { type, response: { subtype: 'error', request_id: response?.request_id, error: 'The hook is broken.' } };
  child.stdin.write((isHook ? JSON.stringify(error) : line) + '\\n');
});
lines.on('close', () => child.stdin.end());
child.on('exit', (code) => process.exit(code ?? 1));
`;

let command: string;
let model: FakeModel;
let daemon: TestDaemon;

beforeAll(async () => {
  const program = await install(CLAUDE);
  command = join(dirname(program), 'claude-with-a-broken-hook.cjs');
  const script = BROKEN.replace('COMMAND', JSON.stringify(program));
  writeFileSync(command, `#!${process.execPath}\n${script}`, { mode: 0o755 });
});

afterEach(async () => {
  await daemon?.stop();
  await model?.close();
});

test('a hook that fails denies, also what claude allows by itself', async () => {
  const key = 'sk-key';
  model = await startFakeModel({ key, mind: obedient });
  const config = `[providers.claude]
command = ${JSON.stringify(command)}
env = { ANTHROPIC_API_KEY = "${key}", ANTHROPIC_BASE_URL = "${model.url}" }
[policies.none]
tool = "own:*"
action = "deny"`;
  const members = { asked: { provider: 'claude', model: 'mock-model' } };
  daemon = await startDaemon({ config, members, sandbox: 'bwrap' });
  const { workspace } = daemon.agent('asked');
  writeFileSync(join(workspace, 'seen.txt'), 'its content');
  const calls = [
    `[[call Bash {"command":"ls"}]]`,
    `[[call Read {"file_path":${JSON.stringify(join(workspace, 'seen.txt'))}}]]`,
    `[[call Glob {"pattern":"*"}]]`,
    `[[call Grep {"pattern":"content"}]]`,
  ];
  const { messageId } = await daemon.client.sendMessage('asked', { text: calls.join('') });
  const reply = await daemon.client.awaitReply(messageId, 60);
  expect(reply?.kind).toBe('reply');
  const results = (await daemon.client.getRun((await daemon.client.listRuns({})).items[0]?.id ?? '')).messages
    .filter(({ type }) => type === 'tool_return_message')
    .map((message) => JSON.stringify(message));
  expect(results).toHaveLength(calls.length);
  for (const result of results) expect(result).not.toMatch(/seen\.txt|its content/);
});
