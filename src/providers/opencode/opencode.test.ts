import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { testProvider } from '../provider.testsuite.ts';
import { opencode } from './opencode.ts';
import { createParser } from './parse.ts';

const { subject, started, run, person } = codingProvider('opencode', opencode);

testProvider({ ...subject, saysFinal: true });

describe('opencode()', () => {
  const configOf = ({ command }: { command: { env: Readonly<Record<string, string>> } }) =>
    JSON.parse(command.env.OPENCODE_CONFIG_CONTENT ?? '{}');

  test('may do everything without a question, and starts no agents of its own', async () => {
    const first = await started({ model: 'anthropic/claude' });
    const { permission, mcp, agent } = configOf(first);
    expect(Object.values(permission)).not.toContain('ask');
    expect(permission).toMatchObject({ '*': 'allow', task: 'deny', question: 'deny', external_directory: 'allow' });
    expect(agent.substrat.permission).toEqual(permission);
    expect(mcp.substrat).toMatchObject({ command: ['bridge', 'a'], environment: { B: 'c' } });
    expect(first.value('--model')).toBe('anthropic/claude');
    expect(configOf(await started({}, { ownTools: false })).permission).toEqual({ '*': 'deny', 'substrat_*': 'allow' });
  });

  test('resumes a session, and gets the instructions as a file', async () => {
    const { value, command, turn } = await started({ session: 'ses_1' });
    expect(value('--session')).toBe('ses_1');
    const [file] = configOf({ command }).instructions;
    expect(file).toBe(join(turn.launch.home, '.substrat/instructions.md'));
  });

  test('knows an unknown session', async () => {
    expect(await run({ session: 'ses_gone' })).toMatchObject([{ type: 'error', kind: 'bad_session' }]);
  });

  test('in a sandbox, the key stays outside', async () => {
    const extraEnv = { OPENAI_API_KEY: 'sk-secret' };
    const first = await started({ model: 'm' }, { confined: true, extraEnv });
    expect(JSON.stringify(first.command)).not.toContain('sk-secret');
    expect(first.value('--model')).toBe('substrat/m');
    expect(configOf(first).provider.substrat.options.baseURL).toBe('http://127.0.0.1:18731/0');
    expect(first.needs.endpoints).toMatchObject([{ headers: { authorization: 'Bearer sk-secret' } }]);
  });

  test('in a sandbox, it gets logins with a key, and none that it would renew', async () => {
    mkdirSync(join(person, '.local/share/opencode'), { recursive: true });
    const logins = { one: { type: 'api', key: 'k' }, other: { type: 'oauth', refresh: 'for ever' } };
    writeFileSync(join(person, '.local/share/opencode/auth.json'), JSON.stringify(logins));
    const { turn } = await started({}, { confined: true });
    const lent = readFileSync(join(turn.launch.home, '.local/share/opencode/auth.json'), 'utf8');
    expect(JSON.parse(lent)).toEqual({ one: logins.one });
  });
});

describe('the stream of opencode', () => {
  const parse = (stream: string) => parseStream(`opencode/${stream}`, createParser());
  const told = (stream: string) => outline(parse(stream)).filter((line) => line !== 'session');

  test('a turn that calls one of our tools', () => {
    const text = 'done: sent to bob by alice';
    const called = ['call substrat:send_message (ours)', 'result (ours)', 'usage 1000 20'];
    expect(told('t1')).toEqual([...called, `text ${text}`, 'usage 1000 20', `done ${text}`]);
  });

  test('its own tools, with a command that fails', () => {
    expect(told('own-tools')).toContain('error');
    expect(told('own-tools').at(-1)).toMatch(/^done /);
  });

  test.each([
    ['http400', 'invalid_request'],
    ['orl', 'rate_limit'],
    ['ctx', 'context_full'],
  ])('the failure %s', (stream, kind) => {
    expect(parse(stream).find(({ type }) => type === 'error')).toMatchObject({ kind });
  });
});
