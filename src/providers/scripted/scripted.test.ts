import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Changes, changed, collect, makeTurn, testProvider } from '../provider.testsuite.ts';
import type { Launch, Turn } from '../provider.ts';
import { scripted } from './scripted.ts';

const library = join(import.meta.dirname, '../../scripted');
const options = { nodePath: process.execPath, library, env: { ...process.env } as Record<string, string> };
const program = join(import.meta.dirname, '../../../test/fixtures/scripted-program.mjs');

testProvider({
  name: 'scripted',
  playing: (scenario) => scripted({ ...options, command: program, args: [scenario] }),
  running: (file) => scripted({ ...options, command: file }),
  settings: (scenario) => `command = ${JSON.stringify(program)}\nargs = ["${scenario}"]`,
});

describe('scripted()', () => {
  let turn: Turn;

  beforeEach(async () => {
    turn = makeTurn(await mkdtemp(join(tmpdir(), 'scripted-')));
  });

  afterEach(() => rm(turn.workspace, { recursive: true }));

  async function run(source: string, changes: Changes = {}, more: object = {}) {
    await writeFile(join(turn.workspace, 'agent.ts'), source);
    return collect(scripted({ ...options, ...more }).runTurn(changed(turn, { program: 'agent.ts', ...changes })));
  }

  const print = (...events: object[]) => events.map((event) => `console.log('${JSON.stringify(event)}');`).join('\n');

  test('passes the turn as one line and the workspace as working directory', async () => {
    const messages = [
      { id: 'm', from: 'lead', channelId: 'c', text: 'Zwei\nZeilen', kind: 'reply', inReplyTo: 'r' },
    ] as const;
    const journal = [{ type: 'text', text: 'begun' }] as const;
    const source = `
      const stdin = require('node:fs').readFileSync(0, 'utf8');
      const lines: string[] = stdin.split('\\n');
      const text = JSON.stringify({ lines: lines.length, cwd: process.cwd(), turn: JSON.parse(lines[0]!) });
      console.log(JSON.stringify({ type: 'done', text }));`;
    const [done] = await run(source, { messages, journal, session: 's' });
    const { runId, agentId, name, instructions, prompt } = turn;
    const { mcpConfig } = turn.launch;
    expect(JSON.parse((done as { text: string }).text)).toEqual({
      lines: 2,
      cwd: turn.workspace,
      turn: { runId, agentId, name, instructions, prompt, mcpConfig, session: 's', messages, journal },
    });
  });

  test('passes a minimal environment', async () => {
    const env = { PATH: '/bin', TZ: 'UTC', SECRET: 'x', SUBSTRAT_HOME: 'y' };
    const source = `console.log(JSON.stringify({ type: 'done', text: JSON.stringify(process.env) }))`;
    const [done] = await run(source, {}, { env, extraEnv: { MODE: 'fast' } });
    expect(JSON.parse((done as { text: string }).text)).toEqual({
      PATH: `${library}/bin:/bin`,
      SUBSTRAT_MCP_CONFIG: turn.launch.mcpConfig,
      SUBSTRAT_NODE: process.execPath,
      TZ: 'UTC',
      MODE: 'fast',
      NODE_COMPILE_CACHE: join(dirname(turn.launch.mcpConfig), 'home/.cache/node'),
      SUBSTRAT_RUN_ID: turn.runId,
      SUBSTRAT_AGENT_ID: turn.agentId,
    });
  });

  test('runs the confined command, and starts a program that is not JavaScript directly', async () => {
    const confine: Launch['confine'] = async (command) => ({
      ...command,
      args: [`{"type":"done","text":"${command.file}"}`],
    });
    const events = await collect(scripted(options).runTurn(changed(turn, { program: 'echo', confine })));
    expect(events).toEqual([{ type: 'done', text: 'echo' }]);
  });

  test.runIf(process.platform === 'linux')('starts a program whose debugger cannot be opened by a signal', async () => {
    const source = `
      const [, caught] = /SigCgt:\\s*(\\w+)/.exec(require('node:fs').readFileSync('/proc/self/status', 'utf8'))!;
      const isCaught = (BigInt('0x' + caught) >> BigInt(require('node:os').constants.signals.SIGUSR1 - 1)) & 1n;
      console.log(JSON.stringify({ type: 'done', text: String(isCaught) }));`;
    expect(await run(source)).toEqual([{ type: 'done', text: '0' }]);
  });

  test('passes every kind of event, with defaults for missing fields', async () => {
    const events = [
      { type: 'session', session: 's' },
      { type: 'tool_call', id: '1', name: 'look', arguments: { at: 'it' } },
      { type: 'tool_result', id: '1', result: [1], isError: true },
      { type: 'usage', inputTokens: 1, outputTokens: 2, costUsd: 0.5 },
    ];
    const short = [
      { type: 'tool_call', id: '2', name: 'look' },
      { type: 'tool_result', id: '2' },
    ];
    expect(await run(print(...events, ...short, { type: 'done', text: '' }))).toEqual([
      ...events,
      { type: 'tool_call', id: '2', name: 'look', arguments: {} },
      { type: 'tool_result', id: '2', result: null, isError: false },
      { type: 'done', text: '' },
    ]);
  });

  test('ignores events of the wrong shape', async () => {
    const wrong = [
      { type: 'text', text: 1 },
      { type: 'session', session: '' },
      { type: 'usage', inputTokens: -1, outputTokens: 0 },
    ];
    expect(await run(print(...wrong, { type: 'done', text: 'ok' }))).toEqual([{ type: 'done', text: 'ok' }]);
  });

  test('uses the last text for a done without one, and ignores what follows', async () => {
    const said = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ];
    const after = [
      { type: 'text', text: 'three' },
      { type: 'error', message: 'late' },
    ];
    expect(await run(print(...said, { type: 'done' }, ...after))).toEqual([...said, { type: 'done', text: 'two' }]);
  });

  test('keeps the kind of an error only if a program may use it', async () => {
    const limited = { type: 'error', kind: 'rate_limit', message: 'slow', retryAfterMs: 1500 };
    expect(await run(print(limited))).toEqual([limited]);
    expect(await run(print({ type: 'error', kind: 'daemon_died', message: 'x' }))).toEqual([
      { type: 'error', kind: 'crash', message: 'x' },
    ]);
    expect(await run(print({ type: 'error', message: 'x' }))).toEqual([{ type: 'error', kind: 'crash', message: 'x' }]);
  });

  test('truncates a final text that is too long for a message, with a mark', async () => {
    const source = `console.log(JSON.stringify({ type: 'done', text: 'x' + 'é'.repeat(1_200_000) }))`;
    const [done] = await run(source);
    expect((done as { text: string }).text).toMatch(/^xé{999979}\n\[cut: too long\]$/);
  });

  test('reports that the line with the result was too long', async () => {
    const source = `console.log(JSON.stringify({ type: 'done', text: 'x'.repeat(9_000_000) }))`;
    const message =
      'The program exited with code 0. It did not report a result. Lines longer than 8 MiB were dropped: 1.';
    expect(await run(source)).toEqual([{ type: 'error', kind: 'crash', message }]);
  });

  test('reports that there is no program, or that the file does not exist', async () => {
    const none = await collect(scripted(options).runTurn(turn));
    expect(none).toEqual([
      { type: 'error', kind: 'crash', message: expect.stringContaining('does not have a program') },
    ]);
    const missing = await collect(scripted(options).runTurn(changed(turn, { program: 'gone.ts' })));
    expect(missing).toEqual([{ type: 'error', kind: 'crash', message: expect.stringContaining('no such file') }]);
  });
});
