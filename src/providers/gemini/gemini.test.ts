import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { testProvider } from '../provider.testsuite.ts';
import { gemini } from './gemini.ts';
import { createParser } from './parse.ts';

const { subject, started, run } = codingProvider('gemini', gemini);

testProvider({ ...subject, saysFinal: true });

describe('gemini()', () => {
  test('has settings and sessions of its own, and approves everything itself', async () => {
    const { command, turn, value } = await started({ model: 'flash' });
    const { home } = turn.launch;
    expect(command.env).toMatchObject({ GEMINI_CLI_HOME: home });
    const settings = JSON.parse(readFileSync(join(home, '.gemini/settings.json'), 'utf8'));
    expect(settings.mcpServers.substrat).toMatchObject({ command: 'bridge', env: { B: 'c' }, trust: true });
    expect(settings.tools.core).toBeUndefined();
    expect(settings.tools.exclude).toContain('invoke_agent');
    expect(readFileSync(`${command.env.GEMINI_SYSTEM_MD}`, 'utf8')).toBe('Be brief.');
    expect([value('--approval-mode'), value('-m')]).toEqual(['yolo', 'flash']);
    expect(value('--session-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('gets only our tools if its own are off', async () => {
    const { turn, value } = await started({ session: 's' }, { ownTools: false });
    const settings = JSON.parse(readFileSync(join(turn.launch.home, '.gemini/settings.json'), 'utf8'));
    expect(settings.tools.core).toEqual(['mcp_substrat_*']);
    expect([value('--approval-mode'), value('--resume')]).toEqual(['default', 's']);
  });

  test('knows an unknown session', async () => {
    expect(await run({ session: 'gone' })).toMatchObject([{ type: 'error', kind: 'bad_session' }]);
  });

  test('in a sandbox, the key stays outside', async () => {
    const { command, needs } = await started({}, { confined: true, extraEnv: { GEMINI_API_KEY: 'secret-key' } });
    expect(JSON.stringify(command)).not.toContain('secret-key');
    expect(needs.endpoints).toMatchObject([{ headers: { 'x-goog-api-key': 'secret-key' }, dialect: 'gemini' }]);
  });
});

describe('the stream of gemini', () => {
  const parse = (stream: string) => parseStream(`gemini/${stream}`, createParser(null));

  test('a turn that calls one of our tools', () => {
    const text = 'done: <untrusted_context>\nsent to bob by alice\n</untrusted_context>';
    const called = ['session', 'call substrat:send_message (ours)', 'result (ours)'];
    expect(outline(parse('t1'))).toEqual([...called, `text ${text}`, 'usage 2000 40', `done ${text}`]);
  });

  test('its own tools', () => {
    expect(outline(parse('own-tools'))).toContain('call run_shell_command');
    expect(outline(parse('own-tools')).at(-1)).toMatch(/^done /);
  });

  test.each([
    ['http400', 'invalid_request'],
    ['gday', 'rate_limit'],
  ])('the failure %s', (stream, kind) => {
    expect(parse(stream).at(-1)).toMatchObject({ type: 'error', kind });
  });
});
