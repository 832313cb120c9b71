import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import { type Changes, changed, collect, makeTurn, startedBy, testProvider } from '../provider.testsuite.ts';
import type { Turn } from '../provider.ts';
import { codex } from './codex.ts';
import { createDialogue } from './dialogue.ts';

const { subject, person, options } = codingProvider('codex', codex);

testProvider({ ...subject, shell: 'shell', judged: true });

describe('codex()', () => {
  let turn: Turn;

  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'codex-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    turn = makeTurn(directory);
    writeFileSync(
      turn.launch.mcpConfig,
      JSON.stringify({ mcpServers: { substrat: { command: 'x', env: { A: 'b"c' } } } }),
    );
  });

  /** The command of a turn and what it needs, without starting it. */
  const started = (changes: Changes = {}, more: Partial<typeof options> = {}) =>
    startedBy(codex({ ...options, ...more }), turn, changes);

  test('is configured by its command line, so that no file of an agent decides', async () => {
    const { command } = await started({ model: 'gpt-5' });
    expect(command.args[0]).toBe('app-server');
    expect(command.args).toEqual(
      expect.arrayContaining([
        'approval_policy="never"',
        'sandbox_mode="danger-full-access"',
        'features.multi_agent=false',
        'features.unbounded_connection_retries=false',
        'model="gpt-5"',
        expect.stringMatching(/^mcp_servers\.substrat=\{"command"="x","args"=\[\],"env"=\{"A"="b\\"c"\}/),
      ]),
    );
    expect(command.args).not.toContain('features.shell_tool=false');
    const inside = await started({}, { confined: true });
    const server =
      /^mcp_servers\.substrat=\{"url"="http:\/\/127\.0\.0\.1:18731\/mcp","default_tools_approval_mode"="approve"/;
    expect(inside.command.args).toEqual(expect.arrayContaining([expect.stringMatching(server)]));
    expect(inside.needs).toMatchObject({ tools: true, waits: true });
    const { command: restricted } = await started({}, { ownTools: false });
    expect(restricted.args).toEqual(
      expect.arrayContaining(['features.shell_tool=false', 'features.unified_exec=false']),
    );
  });

  test('knows an unknown thread', async () => {
    const session = '11111111-2222-4333-8444-555555555555';
    const events = await collect(codex(options).runTurn(changed(turn, { session })));
    expect(events).toEqual([{ type: 'error', kind: 'bad_session', message: expect.stringContaining(session) }]);
  });

  test('in a sandbox, the key stays outside', async () => {
    const extraEnv = { OPENAI_API_KEY: 'sk-secret' };
    const { command, needs } = await started({}, { confined: true, extraEnv });
    expect(JSON.stringify(command)).not.toContain('sk-secret');
    expect(command.args.join(' ')).toContain('"base_url"="http://127.0.0.1:18731/0"');
    expect(needs.endpoints).toMatchObject([
      { url: 'https://api.openai.com/v1', headers: { authorization: 'Bearer sk-secret' }, dialect: 'openai' },
    ]);
  });

  test('in a sandbox, it gets the login without the token that renews it, and no settings of an agent', async () => {
    mkdirSync(join(person, '.codex'), { recursive: true });
    const tokens = { access_token: 'for now', refresh_token: 'for ever' };
    writeFileSync(join(person, '.codex/auth.json'), JSON.stringify({ tokens }));
    mkdirSync(join(turn.launch.home, '.codex'), { recursive: true });
    writeFileSync(join(turn.launch.home, '.codex/config.toml'), 'model = "other"');
    await started({}, { confined: true });
    const lent = readFileSync(join(turn.launch.home, '.codex/auth.json'), 'utf8');
    expect(JSON.parse(lent)).toMatchObject({ tokens: { access_token: 'for now', refresh_token: '' } });
    expect(() => readFileSync(join(turn.launch.home, '.codex/config.toml'))).toThrow('ENOENT');
  });

  test.each([
    ['item/commandExecution/requestApproval', { result: { decision: 'decline' } }],
    ['item/fileChange/requestApproval', { result: { decision: 'decline' } }],
    ['mcpServer/elicitation/request', { result: { action: 'decline' } }],
    ['item/tool/requestUserInput', { error: { code: -32601 } }],
  ])('refuses the question %s at once', async (method, answer) => {
    const { input, parse } = createDialogue(turn, null);
    parse(JSON.stringify({ id: 7, method, params: {} }));
    parse(JSON.stringify({ id: 1, error: { message: 'the end' } }));
    const sent: unknown[] = [];
    for await (const chunk of input as AsyncIterable<string>)
      sent.push(
        ...`${chunk}`
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
    expect(sent.at(-1)).toMatchObject({ id: 7, ...answer });
  });

  test('a message that the program does not take any more is not taken', () => {
    const { parse, steer } = createDialogue(turn, null);
    const say = (line: object) => parse(JSON.stringify(line));
    const taken: string[] = [];
    const arrive = (text: string) => steer?.({ text, taken: () => void taken.push(text) });
    const shown = (threadId: string, text: string) => {
      const item = { type: 'userMessage', id: 'i', content: [{ type: 'text', text }] };
      say({ method: 'item/started', params: { threadId, item } });
    };
    say({ id: 1, result: {} });
    say({ id: 2, result: { thread: { id: 'own' } } });
    say({ method: 'turn/started', params: { threadId: 'own', turn: { id: 't' } } });
    arrive('one');
    arrive('two');
    say({ id: 4, result: { turnId: 't' } });
    say({ id: 5, error: { code: -32600, message: 'no active turn to steer' } });
    shown('other', 'one');
    expect(taken).toEqual([]);
    shown('own', 'one');
    shown('own', 'two');
    expect(taken).toEqual(['one']);
  });
});
