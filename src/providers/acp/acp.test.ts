import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { OwnCall } from '../../core/own-tool.ts';
import { type Changes, changed, collect, makeTurn, startedBy, testProvider } from '../provider.testsuite.ts';
import type { Turn } from '../provider.ts';
import { acp } from './acp.ts';
import { createDialogue } from './dialogue.ts';
import { createGuarding } from './guarding.ts';

const program = join(import.meta.dirname, '../../../test/fixtures/acp.mjs');
const person = mkdtempSync(join(tmpdir(), 'acp-home-'));
const options = {
  name: 'some-agent',
  command: program,
  args: [] as string[],
  ownTools: true,
  env: { ...process.env, HOME: person } as Record<string, string>,
  extraEnv: {} as Record<string, string>,
  confined: false,
  hosts: [] as string[],
  loginFiles: [] as string[],
  authMethod: null as string | null,
  api: null as 'openai' | null,
};

afterAll(() => rmSync(person, { recursive: true, maxRetries: 3 }));

testProvider({
  name: 'some-agent',
  shell: 'execute',
  saysFinal: true,
  judged: true,
  playing: (scenario) => acp({ ...options, extraEnv: { STAND_IN_SCENARIO: scenario } }),
  running: (file) => acp({ ...options, command: file }),
  settings: (scenario) =>
    `kind = "acp"\ncommand = ${JSON.stringify(program)}\nenv = { STAND_IN_SCENARIO = "${scenario}", HOME = ${JSON.stringify(person)} }`,
});

describe('acp()', () => {
  let turn: Turn;

  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'acp-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    turn = makeTurn(directory);
    writeFileSync(turn.launch.mcpConfig, '{"mcpServers":{}}');
  });

  const play = (quirks: string[], changes: Changes = {}, more: Partial<typeof options> = {}) =>
    collect(
      acp({ ...options, args: quirks, extraEnv: { STAND_IN_SCENARIO: 'answer' }, ...more }).runTurn(
        changed(turn, changes),
      ),
    );

  const sessionOf = async (quirks: string[] = []) => {
    const session = (await play(quirks)).find((event) => event.type === 'session')?.session;
    return session ?? expect.fail('there is no session');
  };

  test.each([[['no-load']], [['no-resume']], [[]]])('resumes a session of a program with %j', async (quirks) => {
    const session = await sessionOf(quirks);
    const events = await play(quirks, { session, prompt: 'And now?' });
    expect(events.at(-1)).toEqual({ type: 'done', text: 'resumed after "Say hello.": And now?' });
    // What a load repeats is not said again.
    expect(JSON.stringify(events)).not.toContain('earlier turn');
  });

  test.each([[['no-resume']], [['no-load']], [['no-resume', 'no-replay']], [['no-resume', 'no-load']]])(
    'has lost an unknown session with %j',
    async (quirks) => {
      const events = await play(quirks, { session: 'unknown' });
      expect(events).toEqual([{ type: 'error', kind: 'bad_session', message: expect.stringContaining('unknown') }]);
    },
  );

  test('a program that cannot resume names no session', async () => {
    const events = await play(['no-resume', 'no-load']);
    expect(events.map(({ type }) => type)).not.toContain('session');
    expect(events).toContainEqual({ type: 'forgets' });
  });

  test('kills a program that stays after its turn, and the result counts', async () => {
    expect((await play(['lingers'])).at(-1)).toEqual({ type: 'done', text: 'started: Say hello.' });
  });

  test('logs in if configured, and says that a login is needed', async () => {
    expect((await play(['login'], {}, { authMethod: 'key' })).at(-1)).toMatchObject({ type: 'done' });
    expect(await play(['login'])).toEqual([
      { type: 'error', kind: 'auth', message: expect.stringContaining('Authentication required') },
    ]);
  });

  test('chooses the model of the agent', async () => {
    expect((await play([], { model: 'large' })).at(-1)).toMatchObject({ type: 'done' });
    expect((await play([], { model: 'unknown' })).at(-1)).toMatchObject({ kind: 'invalid_request' });
  });

  test('in a sandbox, it finds its login and its hosts, and its key stays outside', async () => {
    mkdirSync(join(person, '.some-agent'), { recursive: true });
    writeFileSync(join(person, '.some-agent/auth.json'), '{}');
    const { command, needs } = await startedBy(
      acp({
        ...options,
        confined: true,
        hosts: ['models.example.com'],
        loginFiles: ['.some-agent/auth.json', '.missing'],
        api: 'openai',
        extraEnv: { OPENAI_API_KEY: 'sk-secret' },
      }),
      turn,
    );
    expect(JSON.stringify(command)).not.toContain('sk-secret');
    const target = join(turn.launch.home, '.some-agent/auth.json');
    expect(needs).toMatchObject({
      hosts: ['models.example.com'],
      binds: [{ source: join(person, '.some-agent/auth.json'), target, mode: 'ro' }],
      endpoints: [{ url: 'https://api.openai.com/v1', headers: { authorization: 'Bearer sk-secret' } }],
    });
  });
});

test('the "Internal error" of the protocol is not an error of a server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'acp-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const policy = { name: 'x', ownTools: true, authMethod: null, costs: new Map() };
  const failure = (error: object) =>
    createDialogue(policy, makeTurn(directory), null).parse(JSON.stringify({ jsonrpc: '2.0', id: 1, error }))[0];
  const message = 'Internal error: No such thing.';
  expect(failure({ code: -32603, message })).toMatchObject({ kind: 'crash', message: 'No such thing.' });
  expect(failure({ code: -32603, message: 'Internal error' })).toMatchObject({ kind: 'crash' });
  expect(failure({ code: 429, message: 'Slow down' })).toMatchObject({ kind: 'rate_limit' });
});

describe('a question of the program', () => {
  const options = ['allow_always', 'allow_once', 'reject_once'].map((kind) => ({ optionId: `the ${kind}`, kind }));
  const shell = { toolCallId: 'c', title: 'ls', kind: 'execute', rawInput: { command: 'ls' } };
  const titles = ['mcp__substrat__send_message', 'substrat_send_message', 'send_message (substrat MCP Server)'];

  /** The answer to a request of the program. */
  async function answer(method: string, params: object, ownTools = true): Promise<unknown> {
    const directory = mkdtempSync(join(tmpdir(), 'acp-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const policy = { name: 'x', ownTools, authMethod: null, costs: new Map() };
    const { input, parse } = createDialogue(policy, makeTurn(directory), null);
    parse(JSON.stringify({ jsonrpc: '2.0', id: 'q', method, params }));
    parse(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { message: 'the end' } }));
    let sent = '';
    for await (const chunk of input as AsyncIterable<string>) sent += chunk;
    return JSON.parse(sent.trim().split('\n').at(-1) ?? '');
  }
  const asked = async (toolCall: object, ownTools: boolean, choices: object[] = options) => {
    const answered = await answer(
      'session/request_permission',
      { sessionId: 's', toolCall, options: choices },
      ownTools,
    );
    return (answered as { result: { outcome: object } }).result.outcome;
  };

  test('is allowed, once', async () => {
    expect(await asked(shell, true)).toEqual({ outcome: 'selected', optionId: 'the allow_once' });
  });

  test('is refused if only our tools are allowed, except for those', async () => {
    expect(await asked(shell, false)).toEqual({ outcome: 'selected', optionId: 'the reject_once' });
    expect(await asked({ ...shell, title: 'echo substrat_send_message' }, false)).toMatchObject({
      optionId: 'the reject_once',
    });
    for (const title of titles)
      expect(await asked({ toolCallId: 'c', title }, false)).toMatchObject({ optionId: 'the allow_once' });
    const rawInput = { server: 'substrat', tool: 'send_message', arguments: {} };
    expect(await asked({ toolCallId: 'c', title: 'x', rawInput }, false)).toMatchObject({ optionId: 'the allow_once' });
  });

  test.each([
    [{ title: 'substrat_send_message', kind: 'execute', rawInput: { command: 'rm -r .' } }],
    [{ title: 'substrat/run', kind: 'execute' }],
    [{ title: 'substrat_send_message', rawInput: { command: 'substrat_send_message' } }],
    [{ title: 'x', kind: 'edit', rawInput: { server: 'substrat', tool: 'send_message', path: '/a' } }],
    [{ title: 'x', rawInput: { server: 'substrat', tool: 'send_message', command: 'ls' } }],
  ])("about a tool of the program's own is not taken for one of ours by its words: %j", async (call) => {
    expect(await asked({ toolCallId: 'c', ...call }, false)).toMatchObject({ optionId: 'the reject_once' });
  });

  test('is judged by the kind that was said earlier', async () => {
    const permit = async () => ({ allowed: false, message: 'No.' }) as const;
    const { unasked, isOurs } = createGuarding({ guard: { verdict: () => 'ask', permit }, workspace: '/w' }, 'x');
    unasked({ update: { sessionUpdate: 'tool_call', toolCallId: 'c', kind: 'execute' } });
    expect(isOurs({ toolCallId: 'c', title: 'substrat_send_message' })).toBe(false);
    expect(isOurs({ toolCallId: 'd', title: 'substrat_send_message' })).toBe(true);
  });

  test.each(['constructor', '__proto__', 'toString'])(
    'of the kind %s is judged by the strictest policy',
    async (kind) => {
      const verdict = (call: OwnCall) => (call.kind === 'shell' ? 'deny' : 'allow');
      const kinds: string[] = [];
      const permit = async (call: OwnCall) => {
        kinds.push(call.kind);
        return { allowed: false, message: 'No.' } as const;
      };
      const { decide } = createGuarding({ guard: { verdict, permit }, workspace: '/w' }, 'x');
      await new Promise<void>((resolve) => decide({ toolCallId: 'c', title: 'x', kind }, () => resolve()));
      expect(kinds).toEqual(['shell']);
    },
  );

  test('without a choice that fits is cancelled', async () => {
    expect(await asked(shell, false, options.slice(0, 1))).toEqual({ outcome: 'cancelled' });
  });

  test.each(['fs/read_text_file', 'terminal/create', 'session/anything'])('%s is not offered', async (method) => {
    expect(await answer(method, {})).toMatchObject({ id: 'q', error: { code: -32601 } });
  });

  test.each([
    ['completed', 'ask', 'invalid_request'],
    ['completed', 'allow', undefined],
    ['failed', 'deny', undefined],
  ] as const)('that was not asked: a call that is %s, where a policy says %s', (status, action, kind) => {
    const guard = { verdict: () => action, permit: async () => ({ allowed: true }) as const };
    const { unasked } = createGuarding({ guard, workspace: '/w' }, 'x');
    const update = (more: object) => unasked({ update: { toolCallId: 'c', ...more } });
    expect(
      update({ sessionUpdate: 'tool_call', kind: 'execute', title: 'ls', rawInput: { command: 'ls' } }),
    ).toBeNull();
    expect(update({ sessionUpdate: 'tool_call_update', status })?.kind).toBe(kind);
    expect(update({ sessionUpdate: 'tool_call', toolCallId: 'o', title: 'substrat_complete', status })).toBeNull();
  });

  test('of an unknown kind is judged by the strictest policy', async () => {
    const kinds: string[] = [];
    const verdict = ({ kind }: OwnCall) => (kind === 'write' ? 'deny' : 'allow');
    const permit = async ({ kind }: OwnCall) => {
      kinds.push(kind);
      return { allowed: false, message: 'No.' } as const;
    };
    const { decide } = createGuarding({ guard: { verdict, permit }, workspace: '/w' }, 'x');
    const answers = new Promise((resolve) =>
      decide({ toolCallId: 'c', title: 'patch' }, (...answer) => resolve(answer)),
    );
    expect(await answers).toEqual([false, 'No.']);
    expect(kinds).toEqual(['write']);
  });

  test('to the person is declined', async () => {
    expect(await answer('elicitation/create', {})).toMatchObject({ id: 'q', result: { action: 'decline' } });
  });
});
