import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listen, serveTools } from '../../test/helpers/agent-socket.ts';
import { processesOf } from '../../test/helpers/run-processes.ts';

const library = join(import.meta.dirname, 'scripted.ts');
const bridge = join(import.meta.dirname, '../mcp/bridge.cjs');
const agentId = '3f2b8c1e-0000-4000-8000-00000000abcd';
let daemon: Awaited<ReturnType<typeof listen>>;
let mcpConfig: string;
let connections: number;

beforeEach(async () => {
  connections = 0;
  daemon = await listen((socket) => {
    connections++;
    return serveTools(socket);
  });
  mcpConfig = join(daemon.directory, 'mcp.json');
  const substrat = {
    command: process.execPath,
    args: [bridge, '--agent-id', agentId],
    env: { SUBSTRAT_SOCKET: daemon.path },
  };
  await writeFile(mcpConfig, JSON.stringify({ mcpServers: { substrat } }));
});

afterEach(() => daemon.close());

/** Runs a program whose agent has this body. */
async function run(body: string, turn: object = {}) {
  const program = join(daemon.directory, 'agent.ts');
  await writeFile(program, `import { runAgent, ToolError, TurnError } from '${library}';\nawait runAgent(${body});`);
  const runId = crypto.randomUUID();
  const child = spawn(process.execPath, [program], { env: { SUBSTRAT_RUN_ID: runId }, stdio: 'pipe' });
  child.stdin.end(`${JSON.stringify({ messages: [], mcpConfig, ...turn })}\n`);
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  while (processesOf(runId).length > 0) await nextTurn();
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { code, events, stderr };
}

describe('runAgent()', () => {
  test('passes the turn to the agent and takes its final text', async () => {
    const messages = [{ id: '1', from: 'lead', channelId: 'c', text: 'How far?', kind: 'request' }];
    const { code, events } = await run("({ name, messages }) => name + ' got ' + messages[0].text", {
      name: 'w',
      messages,
    });
    expect(events).toEqual([{ type: 'done', text: 'w got How far?' }]);
    expect(code).toBe(0);
    expect(connections).toBe(0);
  });

  test('emits texts, session and usage during the turn, and needs no final text', async () => {
    const { events } = await run(`async ({ say, setSession, usage }) => {
      setSession('s');
      say('one');
      usage({ inputTokens: 1, outputTokens: 2 });
    }`);
    expect(events).toEqual([
      { type: 'session', session: 's' },
      { type: 'text', text: 'one' },
      { type: 'usage', inputTokens: 1, outputTokens: 2 },
      { type: 'done' },
    ]);
  });

  test('calls tools concurrently over one connection', async () => {
    const { events, stderr } = await run(`async ({ call, callRaw, tools }) => {
      const echo = (text: string) => call('echo', { text });
      return JSON.stringify([await Promise.all([echo('a'), echo('ä\\n')]), await callRaw('refuse'), (await tools()).length]);
    }`);
    expect(stderr).toBe('');
    const refusal = { error: { code: 'forbidden', message: 'Not you.' } };
    expect(JSON.parse(events[0].text)).toEqual([
      [{ text: 'a' }, { text: 'ä\n' }],
      { content: [{ type: 'text', text: JSON.stringify(refusal) }], structuredContent: refusal, isError: true },
      3,
    ]);
    expect(connections).toBe(1);
  });

  test('throws a ToolError with the code of the tool, or protocol', async () => {
    const { events } = await run(`async ({ call }) => {
      const codes = [];
      for (const tool of ['refuse', 'nothing']) {
        await call(tool).catch((error: unknown) => codes.push(error instanceof ToolError && [error.code, error.message]));
      }
      return JSON.stringify(codes);
    }`);
    expect(JSON.parse(events[0].text)).toEqual([
      ['forbidden', 'Not you.'],
      ['protocol', expect.stringContaining('nothing')],
    ]);
  });

  test('waits for calls that the agent did not await', async () => {
    const { events } = await run(`({ call, say }) => {
      call('echo', { text: 'later' }).then(({ text }) => say(String(text)));
    }`);
    expect(events).toEqual([{ type: 'text', text: 'later' }, { type: 'done' }]);
  });

  test('rejects pending calls when the MCP server dies', async () => {
    const { code, events } = await run(`async ({ call }) => { await call('die'); }`);
    const message = "The agent's tool server has exited (code 1).";
    expect(events).toEqual([{ type: 'error', kind: 'crash', message }]);
    expect(code).toBe(1);
  });

  test.each([
    ['{}', 'does not contain mcpServers.substrat'],
    ['{"mcpServers":{"substrat":{"command":"/nowhere/bridge"}}}', 'could not be started: spawn /nowhere/bridge ENOENT'],
  ])('reports what is wrong with its configuration (%s)', async (config, message) => {
    await writeFile(mcpConfig, config);
    const { events } = await run(`async ({ call }) => { await call('echo'); }`);
    expect(events).toEqual([{ type: 'error', kind: 'crash', message: expect.stringContaining(message) }]);
  });

  test('reports a thrown error as a crash, and a TurnError by its kind', async () => {
    const crash = await run(`() => { throw new Error('Oh no.'); }`);
    expect(crash).toMatchObject({ code: 1, events: [{ type: 'error', kind: 'crash', message: 'Oh no.' }] });
    const limited = await run(`() => { throw new TurnError('rate_limit', 'Slowly.', { retryAfterMs: 5 }); }`);
    expect(limited.events).toEqual([{ type: 'error', kind: 'rate_limit', message: 'Slowly.', retryAfterMs: 5 }]);
  });

  test('loses nothing of a long text', async () => {
    const { events } = await run(`() => 'x'.repeat(1_000_000)`);
    expect(events[0].text).toHaveLength(1_000_000);
  });
});
