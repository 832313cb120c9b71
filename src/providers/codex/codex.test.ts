import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Command, Needs } from '../../core/command.ts';
import { type Changes, changed, collect, makeTurn, testProvider } from '../provider.testsuite.ts';
import type { Turn } from '../provider.ts';
import { codex } from './codex.ts';
import { createDialogue } from './dialogue.ts';

const program = join(import.meta.dirname, '../../../test/fixtures/codex.mjs');
const person = mkdtempSync(join(tmpdir(), 'codex-home-'));
const options = {
  command: program,
  args: [] as string[],
  ownTools: true,
  env: { ...process.env, HOME: person } as Record<string, string>,
  extraEnv: {} as Record<string, string>,
  confined: false,
};

afterAll(() => rmSync(person, { recursive: true, maxRetries: 3 }));

testProvider({
  name: 'codex',
  playing: (scenario) => codex({ ...options, extraEnv: { STAND_IN_SCENARIO: scenario } }),
  running: (file) => codex({ ...options, command: file }),
  settings: (scenario) =>
    `command = ${JSON.stringify(program)}\nenv = { STAND_IN_SCENARIO = "${scenario}", HOME = ${JSON.stringify(person)} }`,
});

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
  async function started(changes: Changes = {}, more: Partial<typeof options> = {}) {
    const seen: { command: Command; needs: Needs }[] = [];
    const confine = async (command: Command, needs: Needs = {}) => {
      seen.push({ command, needs });
      return { ...command, file: 'true', args: [] };
    };
    await collect(codex({ ...options, ...more }).runTurn(changed(turn, { confine, ...changes })));
    return seen[0] ?? expect.fail('nothing was started');
  }

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
    parse(JSON.stringify({ id: 2, error: { message: 'the end' } }));
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
});
