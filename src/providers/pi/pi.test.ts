import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import type { CodingOptions } from '../cli.ts';
import { testProvider } from '../provider.testsuite.ts';
import { createParser } from './parse.ts';
import { type PiOptions, pi } from './pi.ts';

/** Any directory: the stand-in does not load it. */
const mcpAdapter = tmpdir();
const { subject, started, run } = codingProvider('pi', (options: CodingOptions) => pi({ mcpAdapter, ...options }));

testProvider({
  ...subject,
  saysFinal: true,
  settings: (scenario) => `${subject.settings(scenario)}\nmcp_adapter = ${JSON.stringify(mcpAdapter)}`,
});

describe('pi()', () => {
  test('has settings and sessions of its own, and our tools by its extension', async () => {
    const { command, value, turn } = await started({ model: 'm', session: 's' });
    const directory = join(turn.launch.home, '.pi/agent');
    expect(command.env).toMatchObject({ PI_CODING_AGENT_DIR: directory });
    expect([value('-e'), value('--model'), value('--session')]).toEqual([mcpAdapter, 'm', 's']);
    expect(readFileSync(`${value('--append-system-prompt')}`, 'utf8')).toBe('Be brief.');
    const { mcpServers } = JSON.parse(readFileSync(join(directory, 'mcp.json'), 'utf8'));
    expect(mcpServers.substrat).toMatchObject({ command: 'bridge', directTools: true, lifecycle: 'eager' });
    expect(existsSync(join(directory, 'models.json'))).toBe(false);
    expect((await started({}, { ownTools: false })).command.args).toContain('--no-builtin-tools');
  });

  test('says that it needs its extension', async () => {
    const without: Partial<PiOptions> = { mcpAdapter: null };
    const message = expect.stringContaining('mcp_adapter');
    expect(await run({}, without)).toMatchObject([{ type: 'error', kind: 'invalid_request', message }]);
  });

  test('knows an unknown session', async () => {
    expect(await run({ session: 'gone' })).toMatchObject([{ type: 'error', kind: 'bad_session' }]);
  });

  test('in a sandbox, the key stays outside', async () => {
    const { command, needs, turn } = await started({}, { confined: true, extraEnv: { OPENAI_API_KEY: 'sk-secret' } });
    expect(JSON.stringify(command)).not.toContain('sk-secret');
    expect(needs.endpoints).toMatchObject([{ headers: { authorization: 'Bearer sk-secret' } }]);
    const models = readFileSync(join(turn.launch.home, '.pi/agent/models.json'), 'utf8');
    expect(JSON.parse(models).providers.substrat).toMatchObject({ baseUrl: 'http://127.0.0.1:18731/0' });
  });
});

describe('the stream of pi', () => {
  const parse = (stream: string, onUserMessage = (_: string): void => undefined) => {
    const { begin, read } = createParser({ onUserMessage });
    begin('s');
    return parseStream(`pi/${stream}`, read);
  };

  test('a turn that calls one of our tools', () => {
    const text = 'done: sent to bob by alice';
    const called = ['session', 'usage 1000 20', 'call substrat:send_message (ours)', 'result (ours)'];
    expect(outline(parse('t1'))).toEqual([...called, `text ${text}`, 'usage 1000 20', `done ${text}`]);
  });

  test('a message that was inserted is shown when the model gets it', () => {
    const shown: string[] = [];
    const said = outline(parse('rpc-steer', (text) => void shown.push(text)));
    expect(shown.slice(0, 2)).toEqual([expect.stringMatching(/^first /), 'SECOND please note']);
    expect(said.indexOf('text done: sent to bob by alice')).toBeGreaterThan(said.indexOf('result (ours)'));
  });

  test('its own tools, with a command that fails', () => {
    expect(outline(parse('own-tools'))).toEqual(expect.arrayContaining(['call bash', 'error']));
    expect(outline(parse('own-tools')).at(-1)).toMatch(/^done /);
  });

  test.each([
    ['http400', 'invalid_request'],
    ['orl', 'rate_limit'],
    ['quota', 'rate_limit'],
  ])('the failure %s, with which the program exits with 0', (stream, kind) => {
    expect(parse(stream).at(-1)).toMatchObject({ type: 'error', kind });
  });
});
