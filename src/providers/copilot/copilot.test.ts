import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { testProvider } from '../provider.testsuite.ts';
import { copilot } from './copilot.ts';
import { createParser } from './parse.ts';

const { subject, started, run } = codingProvider('copilot', copilot);

testProvider({ ...subject, saysFinal: true });

describe('copilot()', () => {
  test('asks nobody, and starts no agents of its own', async () => {
    const { command, turn } = await started({ model: 'gpt-5' });
    const { home } = turn.launch;
    expect(command.args).toEqual(expect.arrayContaining(['--allow-all-tools', '--allow-all-paths', '--no-ask-user']));
    expect(command.args.join(' ')).toMatch(/--excluded-tools=task,read_agent.* --session-id=[0-9a-f-]{36}$/);
    expect(command.env).toMatchObject({ COPILOT_HOME: join(home, '.copilot'), COPILOT_MODEL: 'gpt-5' });
    const { mcpServers } = JSON.parse(readFileSync(join(home, '.substrat/copilot-mcp.json'), 'utf8'));
    expect(mcpServers.substrat).toEqual({
      type: 'local',
      tools: ['*'],
      command: 'bridge',
      args: ['a'],
      env: { B: 'c' },
    });
    expect(readFileSync(join(home, '.copilot/agents/substrat.agent.md'), 'utf8')).toContain('\nBe brief.\n');
  });

  test('resumes a session with only our tools if its own are off', async () => {
    const { command } = await started({ session: 's' }, { ownTools: false });
    expect(command.args).toEqual(expect.arrayContaining(['--resume=s', '--available-tools=substrat']));
    expect(command.args).not.toContain('--allow-all-tools');
  });

  test('knows an unknown session', async () => {
    expect(await run({ session: 'gone' })).toMatchObject([{ type: 'error', kind: 'bad_session' }]);
  });

  test('in a sandbox, the key stays outside', async () => {
    const extraEnv = { COPILOT_PROVIDER_API_KEY: 'sk-secret', COPILOT_PROVIDER_BASE_URL: 'http://127.0.0.1:1/v1' };
    const { command, needs } = await started({}, { confined: true, extraEnv });
    expect(JSON.stringify(command)).not.toContain('sk-secret');
    expect(needs.endpoints).toMatchObject([{ url: 'http://127.0.0.1:1/v1', dialect: 'openai' }]);
  });
});

describe('the stream of copilot', () => {
  const parse = (stream: string) => parseStream(`copilot/${stream}`, createParser());

  test('a turn that calls one of our tools', () => {
    const text = 'done: sent to bob by alice';
    const called = ['call substrat:send_message (ours)', 'result (ours)'];
    expect(outline(parse('t1'))).toEqual([...called, `text ${text}`, `done ${text}`]);
  });

  test('its own tools, with a command that fails', () => {
    expect(outline(parse('own-tools'))).toEqual(expect.arrayContaining(['call bash', 'error', 'done all done']));
  });

  test.each([
    ['http400', 'invalid_request'],
    ['orl', 'rate_limit'],
  ])('the failure %s', (stream, kind) => {
    expect(parse(stream).at(-1)).toMatchObject({ type: 'error', kind });
  });
});
