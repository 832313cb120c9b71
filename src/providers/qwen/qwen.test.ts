import { describe, expect, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { createParser } from '../claude/parse.ts';
import { testProvider } from '../provider.testsuite.ts';
import { qwen } from './qwen.ts';

const { subject, started, run } = codingProvider('qwen', qwen);

testProvider(subject);

describe('qwen()', () => {
  test('approves everything itself, without its own goals and messages', async () => {
    const { value, command, turn } = await started({ model: 'qwen3', session: 's' });
    expect([value('--approval-mode'), value('-m'), value('--resume')]).toEqual(['yolo', 'qwen3', 's']);
    expect(value('--append-system-prompt')).toBe('Be brief.');
    expect(value('--mcp-config')).toBe(turn.launch.mcpConfig);
    expect(command.args.join(' ')).toContain('--exclude-tools send_message');
    expect(command.args).not.toContain('--core-tools');
    expect((await started({}, { ownTools: false })).value('--core-tools')).toBe('none');
  });

  test('knows an unknown session', async () => {
    expect(await run({ session: 'gone' })).toMatchObject([{ type: 'error', kind: 'bad_session' }]);
  });

  test('in a sandbox, the key stays outside', async () => {
    const { command, needs } = await started({}, { confined: true, extraEnv: { OPENAI_API_KEY: 'sk-secret' } });
    expect(JSON.stringify(command)).not.toContain('sk-secret');
    expect(needs.endpoints).toMatchObject([{ headers: { authorization: 'Bearer sk-secret' }, dialect: 'openai' }]);
  });
});

describe('the stream of qwen', () => {
  const told = (stream: string) =>
    outline(parseStream(`qwen/${stream}`, createParser(null, { usagePerMessage: true }))).filter(
      (line) => line !== 'session',
    );

  test('a turn that calls one of our tools: tokens are those of its messages', () => {
    const text = 'done: sent to bob by alice';
    const called = ['call substrat:send_message (ours)', 'usage 1000 20', 'result (ours)'];
    expect(told('t1')).toEqual([...called, `text ${text}`, 'usage 1000 20', `done ${text}`]);
  });

  test('its own tools', () => {
    expect(told('own-tools')).toContain('call run_shell_command');
    expect(told('own-tools').at(-1)).toMatch(/^done /);
  });

  test('an error of the model is not a text', () => {
    expect(told('http400')).toEqual(['error invalid_request']);
  });
});
