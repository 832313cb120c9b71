import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Command, Needs } from '../../core/command.ts';
import { isStored } from '../../runs/told.ts';
import { type Changes, changed, collect, makeTurn, testProvider } from '../provider.testsuite.ts';
import type { Launch, Turn } from '../provider.ts';
import { cursorAgent } from './cursor-agent.ts';

const program = join(import.meta.dirname, '../../../test/fixtures/cursor-agent');
const person = mkdtempSync(join(tmpdir(), 'cursor-home-'));
const options = {
  command: program,
  args: [] as string[],
  force: false,
  env: { ...process.env, HOME: person } as Record<string, string>,
  extraEnv: {},
  confined: false,
};
const chat = '11111111-2222-4333-8444-555555555555';

afterAll(() => rmSync(person, { recursive: true, maxRetries: 3 }));

testProvider({
  name: 'cursor-agent',
  playing: (scenario) => cursorAgent({ ...options, extraEnv: { CURSOR_SCENARIO: scenario } }),
  running: (file) => cursorAgent({ ...options, command: file }),
  settings: (scenario) =>
    `command = ${JSON.stringify(program)}\nenv = { CURSOR_SCENARIO = "${scenario}", HOME = ${JSON.stringify(person)} }`,
});

describe('cursorAgent()', () => {
  let turn: Turn;
  let agent: string;

  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'cursor-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    agent = join(directory, 'agent');
    const workspace = join(directory, 'workspace');
    for (const made of [agent, workspace]) mkdirSync(made);
    turn = changed(makeTurn(workspace), { mcpConfig: join(agent, 'mcp.json'), home: join(agent, 'home') });
    writeFileSync(turn.launch.mcpConfig, JSON.stringify({ mcpServers: { substrat: server({}) } }));
  });

  /** An MCP server with this many tools. */
  function server({ tools = 1 }: { tools?: number }) {
    const source = `
      const tools = Array.from({ length: ${tools} }, (_, i) => ({ name: 'tool' + i, inputSchema: { type: 'object' } }));
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        const result = method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
          : method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'called' }] };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });`;
    return { command: process.execPath, args: ['-e', source] };
  }

  const runAll = (changes: Changes = {}, more: Partial<typeof options> = {}) =>
    collect(cursorAgent({ ...options, ...more }).runTurn(changed(turn, changes)));
  /** What is stored of a turn, and how it ended. */
  const run = async (...given: Parameters<typeof runAll>) =>
    (await runAll(...given)).filter((event) => isStored(event) || event.type === 'done' || event.type === 'error');
  const inWorkspace = (...path: string[]) => join(turn.workspace, '.cursor', ...path);

  /** The commands that a turn starts and what they need, without starting the last one. */
  async function commandsOf(changes: Changes = {}, more: Partial<typeof options> = {}) {
    const started: { command: Command; needs: Needs }[] = [];
    const confine: Launch['confine'] = async (command, needs = {}) => {
      started.push({ command, needs });
      return command.args.includes('create-chat') ? command : { ...command, file: 'true', args: [] };
    };
    await run({ confine, ...changes }, more);
    return started;
  }

  /** A file in the agent's home, as written for the turn. */
  const configOf = (path: string) => JSON.parse(readFileSync(join(turn.launch.home, path), 'utf8'));

  /** A fake program that only answers `--version`. */
  function answering(version: string): string {
    const file = join(agent, 'versioned');
    writeFileSync(file, `#!/bin/sh\necho '${version}'\n`, { mode: 0o755 });
    return file;
  }

  test('starts the headless command line, with the prompt last', async () => {
    const [{ command } = expect.fail('nothing was started')] = await commandsOf({ session: chat, model: 'opus-4.6' });
    const flags = ['--print', '--output-format', 'stream-json', '--stream-partial-output', '--trust', '--approve-mcps'];
    const named = ['--model', 'opus-4.6', '--workspace', turn.workspace, '--resume', chat];
    expect(command).toMatchObject({ file: program, cwd: turn.workspace, args: [...flags, ...named, 'Say hello.'] });
    const [forced] = await commandsOf({ session: chat }, { force: true, args: ['first'] });
    expect(forced?.command.args).toEqual(['first', ...flags, '--force', ...named.slice(2), 'Say hello.']);
  });

  test('creates a chat first, and reports it before anything else is started', async () => {
    const started = await commandsOf();
    expect(started.map(({ command }) => command.args.includes('create-chat'))).toEqual([true, false]);
    const order: string[] = [];
    const confine: Launch['confine'] = async (command) => {
      order.push(command.args.includes('create-chat') ? 'create-chat' : 'turn');
      return command;
    };
    for await (const { type } of cursorAgent(options).runTurn(changed(turn, { confine }))) order.push(type);
    expect([...new Set(order)]).toEqual(['create-chat', 'session', 'turn', 'delta', 'text', 'done']);
  });

  test.each(['-v', '--resume', 'login', '- a list\n- of things', 'x\0y z'])('passes %j as a prompt', async (prompt) => {
    const events = await run({ prompt });
    const last = prompt.split('\n').at(-1)?.replace('\0', '\ufffd');
    expect(events.at(-1)).toEqual({ type: 'done', text: `I heard: ${last} (turn 1)` });
  });

  test.each([false, true])('passes a prompt that is too long for an argument (confined: %s)', async (confined) => {
    const prompt = `${'€'.repeat(100_000)}\nthe end`;
    const confine: Launch['confine'] = async (command, needs) => {
      // What a sandbox does with the bind and the home.
      const bind = needs?.binds?.find(({ target }) => target === inWorkspace());
      if (bind && !existsSync(bind.target)) symlinkSync(bind.source, bind.target);
      return confined ? { ...command, env: { ...command.env, HOME: turn.launch.home } } : command;
    };
    const events = await run({ prompt, session: null, confine }, { confined });
    expect(events.at(-1)).toEqual({ type: 'done', text: 'I heard: the end (turn 1)' });
    if (!confined) expect(existsSync(inWorkspace())).toBe(false);
  });

  test('emits a message once, when it is complete, or what had arrived if it was interrupted', async () => {
    const events = await run({ prompt: 'Say something long enough for deltas.' });
    const text = 'I heard: Say something long enough for deltas. (turn 1)';
    expect(events.slice(1)).toEqual([
      { type: 'text', text },
      { type: 'done', text },
    ]);
    const said = (words: string) => ({ message: { content: [{ type: 'text', text: words }] }, timestamp_ms: 1 });
    const deltas = ['half ', 'a message'].map((words) => JSON.stringify({ type: 'assistant', ...said(words) }));
    const confine: Launch['confine'] = async (command) => ({ ...command, file: 'printf', args: ['%s\n', ...deltas] });
    expect(await run({ session: chat, confine })).toEqual([
      { type: 'text', text: 'half a message' },
      { type: 'error', kind: 'crash', message: expect.stringContaining('did not report a result') },
    ]);
  });

  test('emits deltas, which are not stored', async () => {
    const events = await runAll({ prompt: 'Say it.' });
    const pieces = events.flatMap((event) => (event.type === 'delta' ? event.text : []));
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('I heard: Say it. (turn 1)');
  });

  test('recognizes an unknown chat', async () => {
    const error = { type: 'error', kind: 'bad_session', message: expect.stringContaining(chat) };
    expect(await run({ session: chat })).toEqual([error]);
    const other = JSON.stringify({ type: 'system', subtype: 'init', session_id: 'another' });
    const confine: Launch['confine'] = async (command) => ({ ...command, file: 'echo', args: [other] });
    expect(await run({ session: chat, confine })).toEqual([error]);
  });

  test.each([
    ['API Error: 429 rate limit, try again in 5 minutes', { kind: 'rate_limit', retryAfterMs: 300_000 }],
    ['Authentication required. Please run cursor-agent login.', { kind: 'auth' }],
    ['prompt is too long', { kind: 'context_full' }],
  ])('classifies an error of the model: %s', async (text, failure) => {
    expect((await run({ prompt: `[[http ${text}]]` })).at(-1)).toMatchObject({ type: 'error', ...failure });
  });

  test('classifies stderr of an exit without a result', async () => {
    const events = await run({ model: 'no-such-model' });
    expect(events.at(-1)).toMatchObject({ type: 'error', kind: 'invalid_request' });
    const confine: Launch['confine'] = async (command) => ({ ...command, args: ['--print', 'x'] });
    expect((await run({ session: chat, confine })).at(-1)).toMatchObject({ kind: 'crash' });
  });

  test.each([
    ['2026.02.13-41ac335', 'did not report a result'],
    ['2026.09.02-c22c1a3', 'did not report a result'],
    ['2026.02.12-0000000', '2026.02.13 or newer'],
    ['2025.12.31', '2026.02.13 or newer'],
    ['hello', 'does not report its version'],
  ])('with a program of version %s: %s', async (version, message) => {
    const events = await run({ session: chat }, { command: answering(version) });
    expect(events).toEqual([expect.objectContaining({ type: 'error', message: expect.stringContaining(message) })]);
  });

  test('checks the version once', async () => {
    const command = answering('2026.02.13');
    const provider = cursorAgent({ ...options, command });
    await collect(provider.runTurn(changed(turn, { session: chat })));
    writeFileSync(command, "#!/bin/sh\necho '2020.01.01'\n", { mode: 0o755 });
    const [event] = await collect(provider.runTurn(changed(turn, { session: chat })));
    expect(event).toMatchObject({ message: expect.stringContaining('did not report a result') });
  });

  test('explains how to install a missing program', async () => {
    const [event] = await run({}, { command: 'no-cursor-agent-here' });
    expect(event).toMatchObject({ kind: 'crash', message: expect.stringContaining('cursor.com/install') });
  });

  describe('without a sandbox', () => {
    test('puts its files into the workspace and restores the previous ones', async () => {
      mkdirSync(inWorkspace('rules'), { recursive: true });
      const own = '{ "mcpServers": { "theirs": { "url": "https://example.com" } } }';
      writeFileSync(inWorkspace('mcp.json'), own);
      writeFileSync(inWorkspace('rules/own.mdc'), 'own');
      let seen: string[] = [];
      const confine: Launch['confine'] = async (command) => {
        seen = readdirSync(inWorkspace(), { recursive: true, encoding: 'utf8' }).toSorted();
        expect(Object.keys(JSON.parse(readFileSync(inWorkspace('mcp.json'), 'utf8')).mcpServers)).toEqual([
          'theirs',
          'substrat',
        ]);
        expect(readFileSync(inWorkspace('rules/substrat.mdc'), 'utf8')).toMatch(
          /^---\n[\s\S]*alwaysApply: true\n---\n\nBe brief\.\n$/,
        );
        return { ...command, file: 'true', args: [] };
      };
      await run({ session: chat, confine });
      const files = ['cli.json', 'cli.json.before-substrat', 'mcp.json', 'mcp.json.before-substrat'];
      expect(seen).toEqual([...files, 'rules', 'rules/own.mdc', 'rules/substrat.mdc']);
      expect(readFileSync(inWorkspace('mcp.json'), 'utf8')).toBe(own);
      expect(readdirSync(inWorkspace(), { recursive: true })).toHaveLength(3);
    });

    test("marks the workspace as trusted in the person's home, if it can be written", async () => {
      await run({ session: chat });
      const slug = turn.workspace.slice(1).replaceAll('/', '-');
      const marker = readFileSync(join(person, '.cursor/projects', slug, '.workspace-trusted'), 'utf8');
      expect(JSON.parse(marker)).toMatchObject({ workspacePath: turn.workspace });
      const noHome = { extraEnv: { HOME: turn.launch.mcpConfig } };
      expect(await commandsOf({ session: chat }, noHome)).toHaveLength(1);
    });

    test('restores the files that a dead daemon replaced', async () => {
      mkdirSync(inWorkspace());
      writeFileSync(inWorkspace('mcp.json'), '{ "mcpServers": { "substrat": { "command": "of-the-dead" } } }');
      writeFileSync(inWorkspace('mcp.json.before-substrat'), '');
      expect((await run()).at(-1)).toMatchObject({ type: 'done' });
      expect(readdirSync(inWorkspace())).toEqual([]);
    });

    test('lets the agents of a workspace take turns, and cancels one that waits', async () => {
      const provider = cursorAgent({ ...options, extraEnv: { CURSOR_SCENARIO: 'hang' } });
      const controller = new AbortController();
      const first = provider.runTurn(turn)[Symbol.asyncIterator]();
      while ((await first.next()).value?.type !== 'text');
      const second = collect(provider.runTurn(changed(turn, { signal: controller.signal })));
      controller.abort();
      expect(await second).toEqual([{ type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' }]);
      expect(existsSync(inWorkspace('mcp.json'))).toBe(true);
      await first.return?.();
      expect(existsSync(inWorkspace())).toBe(false);
    });

    test.each([
      ['.cursor is a link', () => symlinkSync(agent, inWorkspace()), 'must be a directory'],
      ['mcp.json is a link', () => linkConfig(), 'must be a plain file'],
      ['mcp.json is not JSON', () => writeConfig('{'), 'correct or remove it'],
      ['mcp.json is a list', () => writeConfig('[]'), 'correct or remove it'],
    ])('refuses a workspace whose %s', async (_, spoil, message) => {
      spoil();
      const error = { type: 'error', kind: 'invalid_request', message: expect.stringContaining(message) };
      expect(await run()).toEqual([error]);
    });

    function writeConfig(text: string): void {
      mkdirSync(inWorkspace());
      writeFileSync(inWorkspace('mcp.json'), text);
    }

    function linkConfig(): void {
      mkdirSync(inWorkspace());
      symlinkSync(turn.launch.mcpConfig, inWorkspace('mcp.json'));
    }
  });

  describe('in a sandbox', () => {
    test('builds a directory in place of .cursor from the existing files and ours, and needs the login', async () => {
      mkdirSync(inWorkspace('hooks'), { recursive: true });
      writeFileSync(inWorkspace('mcp.json'), '{ "mcpServers": { "theirs": { "url": "https://example.com" } } }');
      writeFileSync(inWorkspace('hooks/run.sh'), 'true', { mode: 0o755 });
      symlinkSync('/etc', inWorkspace('outside'));
      symlinkSync('/etc/passwd', inWorkspace('hooks/passwd'));
      mkdirSync(join(person, '.config/cursor'), { recursive: true });
      writeFileSync(join(person, '.config/cursor/auth.json'), '{}');
      mkdirSync(join(person, '.cursor'), { recursive: true });
      writeFileSync(
        join(person, '.cursor/cli-config.json'),
        '{ "permissions": { "allow": [], "deny": ["Shell(rm)"] } }',
      );

      const [{ command, needs } = expect.fail('nothing was started')] = await commandsOf(
        { session: chat },
        { confined: true },
      );
      const made = join(agent, 'cursor');
      expect(needs).toEqual({
        installed: true,
        binds: [
          { source: made, target: inWorkspace(), mode: 'ro' },
          {
            source: join(person, '.config/cursor/auth.json'),
            target: join(turn.launch.home, '.config/cursor/auth.json'),
            mode: 'ro',
          },
        ],
        hosts: ['api2.cursor.sh', '*.cursor.sh'],
      });
      expect(command.env.NODE_USE_ENV_PROXY).toBe('1');
      expect(readdirSync(made, { recursive: true }).toSorted()).toEqual([
        'cli.json',
        'hooks',
        'hooks/run.sh',
        'mcp.json',
        'rules',
        'rules/substrat.mdc',
      ]);
      expect(statSync(join(made, 'hooks/run.sh')).mode & 0o777).toBe(0o700);
      expect(Object.keys(JSON.parse(readFileSync(join(made, 'mcp.json'), 'utf8')).mcpServers)).toEqual([
        'theirs',
        'substrat',
      ]);
      const permissions = { allow: ['Mcp(substrat:*)'], deny: ['Shell(rm)'] };
      expect(configOf('.cursor/cli-config.json')).toMatchObject({ permissions, network: { useHttp1ForAgent: true } });
      expect(JSON.parse(readFileSync(join(made, 'cli.json'), 'utf8'))).toEqual({ permissions });
      expect(readdirSync(inWorkspace()).toSorted()).toEqual(['hooks', 'mcp.json', 'outside']);
    });

    test('copies only a directory of limited size', async () => {
      mkdirSync(inWorkspace());
      writeFileSync(inWorkspace('large'), Buffer.alloc(11 * 1024 * 1024));
      const error = { type: 'error', kind: 'invalid_request', message: expect.stringContaining('10 MiB') };
      expect(await run({}, { confined: true })).toEqual([error]);
      rmSync(inWorkspace('large'));
      for (let n = 0; n <= 4_000; n += 1) symlinkSync('nowhere', inWorkspace(`link-${n}`));
      expect(await run({}, { confined: true })).toEqual([error]);
    });
  });

  describe('the tools', () => {
    const own = (servers: object) => {
      mkdirSync(inWorkspace());
      writeFileSync(inWorkspace('mcp.json'), JSON.stringify({ mcpServers: servers }));
    };

    test("of the workspace's own servers are counted: 40 are accepted", async () => {
      own({
        many: server({ tools: 32 }),
        remote: { url: 'https://example.com' },
        broken: { command: 'no-such-program' },
      });
      const provider = cursorAgent({ ...options, extraEnv: { CURSOR_SCENARIO: 'answer' } });
      expect(provider.otherTools?.(turn.workspace)).toBe(3);
      expect((await collect(provider.runTurn(changed(turn, { countTools: async () => 6 })))).at(-1)).toMatchObject({
        type: 'done',
      });
      expect(provider.otherTools?.(turn.workspace)).toBe(34);
      const message = expect.stringContaining(
        "supports at most 40 tools; Substrat's tools and those of the workspace's .cursor/mcp.json are 41",
      );
      expect(await collect(provider.runTurn(turn))).toEqual([{ type: 'error', kind: 'invalid_request', message }]);
    });

    test('are called through the server', async () => {
      expect((await run({ prompt: '[[call tool0 {"x":1}]]' })).at(-1)).toEqual({ type: 'done', text: 'called' });
    });

    test('of servers that are not approved are missing: the stand-in refuses them, as the real program does', async () => {
      const without =
        (flag: string): Launch['confine'] =>
        async (command) => ({
          ...command,
          args: command.args.filter((argument) => argument !== flag),
        });
      const events = await run({ prompt: '[[call tool0 {"x":1}]]', confine: without('--approve-mcps') });
      expect(events.at(-1)).toEqual({ type: 'done', text: 'there is no tool tool0' });
      expect((await run({ confine: without('--trust') })).at(-1)).toMatchObject({
        message: expect.stringContaining('Trust'),
      });
    });
  });

  describe('the permissions', () => {
    const call = '[[call tool0 {"x":1}]]';
    const ours = 'Mcp(substrat:*)';
    const allow = (path: string, permissions: object) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, JSON.stringify({ permissions }));
      onTestFinished(() => rmSync(path, { force: true }));
    };
    const personal = join(person, '.cursor/cli-config.json');

    test("allow Substrat's tools without --force, and nothing else", async () => {
      const events = await run({ prompt: `${call}[[shell echo hi]]` });
      expect(events.at(-1)).toEqual({ type: 'done', text: 'called\nrejected' });
    });

    test("are the person's plus ours, and a denied call fails the turn and names the rule", async () => {
      allow(personal, { allow: ['Shell(echo)'], deny: ['Mcp(substrat:tool0)', 'Shell(rm)'] });
      expect((await run({ prompt: '[[shell echo hi]]' })).at(-1)).toEqual({ type: 'done', text: 'hi\n' });
      const events = await run({ prompt: call });
      const message = `cursor-agent rejected the call of Substrat's tool tool0: User rejected MCP: substrat-tool0. The rule "Mcp(substrat:tool0)" in \`permissions.deny\` of ${personal} denies it; remove it.`;
      expect(events.slice(1)).toEqual([
        { type: 'tool_call', id: expect.any(String), name: 'substrat:tool0', arguments: { x: 1 } },
        { type: 'tool_result', id: expect.any(String), result: expect.anything(), isError: true },
        { type: 'error', kind: 'invalid_request', message },
      ]);
    });

    test.each(['Mcp(substrat:*)', 'Mcp(*:*)', 'Mcp(*)', 'mcp(sub*)', 'Mcp(substrat, *)'])(
      'that deny all of Substrat by %s are reported before anything is started',
      async (rule) => {
        allow(inWorkspace('cli.json'), { allow: [], deny: [rule] });
        const [event, ...more] = await run({ session: chat });
        expect(event).toMatchObject({ kind: 'invalid_request', message: expect.stringContaining(`"${rule}"`) });
        expect(event).toMatchObject({ message: expect.stringContaining(inWorkspace('cli.json')) });
        expect(more).toEqual([]);
      },
    );

    test.each(['Mcp(other:*)', 'Mcp(substrat2:*)', 'Shell(*)', 'Mcp()', 'nonsense'])(
      'that deny something else by %s are accepted',
      async (rule) => {
        allow(inWorkspace('cli.json'), { allow: [], deny: [rule] });
        expect((await run({ prompt: call })).at(-1)).toEqual({ type: 'done', text: 'called' });
        expect(JSON.parse(readFileSync(inWorkspace('cli.json'), 'utf8'))).toEqual({
          permissions: { allow: [], deny: [rule] },
        });
      },
    );

    test('are written again for every turn, and a symlink of the agent is not followed', async () => {
      const outside = join(agent, 'outside');
      mkdirSync(outside);
      writeFileSync(join(outside, 'cli-config.json'), 'untouched');
      mkdirSync(turn.launch.home);
      symlinkSync(outside, join(turn.launch.home, '.cursor'));
      await commandsOf({ session: chat }, { confined: true });
      expect(readFileSync(join(outside, 'cli-config.json'), 'utf8')).toBe('untouched');
      expect(readdirSync(outside)).toEqual(['cli-config.json']);

      const written = ['cli-config.json', 'permissions.json', 'hooks.json', 'mcp.json', 'cli.json'];
      for (const name of written) {
        writeFileSync(join(turn.launch.home, '.cursor', name), '{"permissions":{"allow":["Shell(*)"]}}');
      }
      symlinkSync('/etc/passwd', join(turn.launch.home, '.cursor/projects/linked'));
      await commandsOf({ session: chat }, { confined: true });
      expect(readdirSync(join(turn.launch.home, '.cursor'))).toEqual(['cli-config.json', 'projects']);
      expect(configOf('.cursor/cli-config.json')).toMatchObject({ permissions: { allow: [ours], deny: [] } });
      const [slug = ''] = readdirSync(join(turn.launch.home, '.cursor/projects')).filter((name) => name !== 'linked');
      expect(configOf(`.cursor/projects/${slug}/.workspace-trusted`)).toMatchObject({ workspacePath: turn.workspace });
    });
  });

  describe('calls of its own tools', () => {
    test("are emitted with their results; calls of Substrat's tools are not", async () => {
      const events = await run({ prompt: '[[shell echo hi]][[call tool0 {}]]' }, { force: true });
      const [id] = events.flatMap((event) => (event.type === 'tool_call' ? event.id : []));
      expect(events.slice(1, 3)).toEqual([
        { type: 'tool_call', id, name: 'shell', arguments: { command: 'echo hi' } },
        { type: 'tool_result', id, result: { exitCode: 0, stdout: 'hi\n' }, isError: false },
      ]);
      expect(events.filter(({ type }) => type.startsWith('tool_'))).toHaveLength(2);
    });

    test('are errors if they are rejected, which does not fail the turn', async () => {
      const events = await run({ prompt: '[[shell echo hi]]' });
      expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', isError: true }));
      expect(events.at(-1)).toMatchObject({ type: 'done' });
    });
  });
});
