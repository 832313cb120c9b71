import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Needs } from '../core/command.ts';
import { type CliProgram, cliProvider, type Said } from './cli.ts';
import { changed, collect, makeTurn } from './provider.testsuite.ts';
import type { Launch, Turn } from './provider.ts';

/** Echoes its stdin, where the test puts the program's output, and logs how it was called. */
const SCRIPT = 'echo "$* $MODE" >> "$LOG"; if [ "$1" = --version ]; then echo "version $V"; else cat; fi; exit "$CODE"';

describe('cliProvider()', () => {
  let turn: Turn;
  let log: string;

  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'cli-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    turn = { ...makeTurn(directory), session: 'known' };
    log = join(directory, 'log');
  });

  function createProvider(
    more: Partial<CliProgram> = {},
    env: Record<string, string> = {},
    confined = false,
    script = SCRIPT,
  ) {
    const extraEnv = { LOG: log, V: '1', CODE: '0', ...env };
    const options = { command: 'sh', args: ['-c', script, 'sh'], env: { PATH: '/usr/bin:/bin' }, extraEnv };
    return cliProvider(
      { ...options, confined },
      {
        about: {
          name: 'echo',
          settings: () => ({}),
          program: {
            command: 'sh',
            install: 'Install it.',
            versionProblem: (answer) => (answer === 'version 1' ? null : 'It is too old.'),
          },
        },
        unjudged: [],
        filesInWorkspace: false,
        files: () => () => {},
        env: () => ({ MODE: 'quiet' }),
        needs: () => ({}),
        args: (_, session) => ['turn', `${session}`],
        dialogue: ({ prompt }) => ({ input: prompt, parse: (line) => JSON.parse(line) as Said[] }),
        ...more,
      },
    );
  }

  const printing = (...lines: Said[][]): Turn => ({
    ...turn,
    prompt: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  });
  const run = (turn: Turn, more: Partial<CliProgram> = {}, env: Record<string, string> = {}) =>
    collect(createProvider(more, env).runTurn(turn));
  const calls = () => readFileSync(log, 'utf8').trim().split('\n');
  const done = { type: 'done', text: 'ok' } as const;

  test('checks the version once, and starts a process per turn with the prompt on stdin', async () => {
    const provider = createProvider();
    for (let n = 0; n < 2; n += 1) expect(await collect(provider.runTurn(printing([done])))).toEqual([done]);
    expect(calls()).toEqual(['--version ', 'turn known quiet', 'turn known quiet']);
  });

  test('reports an unsupported version, and checks again at the next turn', async () => {
    const provider = createProvider({}, { V: '0' });
    const error = { type: 'error', kind: 'invalid_request', message: 'sh cannot be used. It is too old.' };
    for (let n = 0; n < 2; n += 1) expect(await collect(provider.runTurn(printing([done])))).toEqual([error]);
    expect(calls()).toHaveLength(2);
  });

  test('lets the configuration override a variable', async () => {
    await run(printing([done]), {}, { MODE: 'loud' });
    expect(calls().at(-1)).toBe('turn known loud');
  });

  test('ends a program that asks and does not read the answers', async () => {
    const input = new PassThrough();
    const parse = () => {
      input.write('x'.repeat(100_000));
      return [];
    };
    const asking = 'if [ "$1" = --version ]; then echo version 1; else yes "{}"; fi';
    const provider = createProvider({ dialogue: () => ({ input, parse }) }, {}, false, asking);
    const events = await collect(provider.runTurn(turn));
    expect(events).toEqual([{ type: 'error', kind: 'crash', message: expect.stringContaining('does not read') }]);
  });

  test('does not take a name without end for a session, nor a text for a record', async () => {
    const long: Said = { type: 'session', session: 'x'.repeat(2_000) };
    expect(await run({ ...printing([long], [done]), session: null })).toEqual([
      { type: 'error', kind: 'crash', message: 'The name of its session is too long.' },
    ]);
    const [text] = await run(printing([{ type: 'text', text: 'x'.repeat(2_000_000) }], [done]));
    expect(text).toMatchObject({ type: 'text', text: expect.stringMatching(/cut: too long\]$/) });
  });

  test('ignores everything after the final event', async () => {
    const late: Said[] = [
      { type: 'text', text: 'late' },
      { type: 'error', kind: 'crash', message: 'late' },
    ];
    expect(await run(printing([done], late))).toEqual([done]);
    expect(await run(printing([done, ...late]))).toEqual([done]);
    const failure = { type: 'error', kind: 'overloaded', message: 'busy' } as const;
    expect(await run(printing([failure], [done]))).toEqual([failure]);
  });

  test('treats an exit without a final event as a crash, whatever the exit code', async () => {
    const message = expect.stringContaining('It did not report a result.');
    expect(await run(printing([]))).toEqual([{ type: 'error', kind: 'crash', message }]);
  });

  test('emits deltas; an interrupted text is emitted as far as it got', async () => {
    const pieces: Said[] = [
      { type: 'delta', text: 'a' },
      { type: 'delta', text: 'b' },
    ];
    expect(await run(printing(pieces, [done]))).toEqual([...pieces, done]);
    const failure = { type: 'error', kind: 'overloaded', message: 'busy' } as const;
    expect(await run(printing(pieces, [failure]))).toEqual([...pieces, { type: 'text', text: 'ab' }, failure]);
  });

  test('stores a session that is created or chosen before its first turn starts', async () => {
    const events = await run({ ...printing([done]), session: null }, { newSession: async () => 'chosen' });
    expect(events).toEqual([{ type: 'session', session: 'chosen' }, done]);
    expect(calls().at(-1)).toBe('turn chosen quiet');
  });

  test('stores the session that the program reports, once', async () => {
    const session = { type: 'session', session: 'told' } as const;
    expect(await run({ ...printing([session], [session], [done]), session: null })).toEqual([session, done]);
  });

  test('fails if the program resumes another session', async () => {
    const events = await run(printing([{ type: 'session', session: 'another' }], [done]));
    const message = 'echo no longer has the session known.';
    expect(events).toEqual([{ type: 'error', kind: 'bad_session', message }]);
  });

  test('kills the program on stop', async () => {
    const failure = { type: 'error', kind: 'rate_limit', message: 'limit', retryAfterMs: 5 } as const;
    expect(await run(printing([{ type: 'stop', failure }], [done]))).toEqual([failure]);
  });

  test('emits a call once if the program reports both its start and its end', async () => {
    const call = { type: 'tool_call', id: '1', name: 'shell', arguments: {} } as const;
    const result = { type: 'tool_result', id: '1', result: 'hi', isError: false } as const;
    expect(await run(printing([call], [call, result], [call, result, done]))).toEqual([
      call,
      result,
      call,
      result,
      done,
    ]);
  });

  test('is visible in its sandbox, but a server that a workspace names is not', async () => {
    const seen: [string, Needs | undefined][] = [];
    const confine: Launch['confine'] = async (command, needs) => {
      seen.push([command.file, needs]);
      return command;
    };
    const { about } = createProvider();
    const more: Partial<CliProgram> = {
      about: { ...about, maxTools: 10, program: { command: 'sh', install: '', versionProblem: () => null } },
      needs: () => ({ hosts: ['example.com'] }),
      otherTools: {
        known: () => 0,
        ask: async (_, start) => (await start({ file: 'theirs', args: [] })).args.length,
      },
    };
    const events = createProvider(more, {}, true).runTurn(changed(printing([done]), { confine }));
    expect(await collect(events)).toEqual([done]);
    const hosts = ['example.com'];
    expect(seen).toEqual([
      ['theirs', { hosts, installed: false }],
      ['sh', { hosts, installed: true }],
    ]);
  });

  describe('with an endpoint that the proxy watches', () => {
    const endpoints = [{ variable: 'URL', url: 'http://127.0.0.1:1', headers: {}, dialect: 'openai' as const }];

    /** The proxy reports the answer as soon as the program starts. */
    const seeing = (answer: { status: number; retryAfterMs: number | null; inputTokens?: number }) => {
      const confine: Launch['confine'] = async (command, needs) => {
        const seen = { model: null, inputTokens: 0, outputTokens: 0, ...answer };
        needs?.endpoints?.[0]?.onAnswer?.(seen);
        return command;
      };
      return confine;
    };

    test('ends a program that would wait for a limit', async () => {
      const confine = seeing({ status: 429, retryAfterMs: 3_600_000 });
      const forever = new PassThrough();
      const dialogue = () => ({ input: forever, parse: () => [] });
      const provider = createProvider({ needs: () => ({ endpoints }), dialogue }, {}, true);
      const events = await collect(provider.runTurn(changed(turn, { confine })));
      expect(events).toMatchObject([{ type: 'error', kind: 'rate_limit', retryAfterMs: 3_600_000 }]);
    });

    test('are metered, whatever the program reports', async () => {
      const confine = seeing({ status: 200, retryAfterMs: null, inputTokens: 7 });
      const provider = createProvider({ needs: () => ({ endpoints }) }, {}, true);
      const metered: number[] = [];
      const meter: Turn['meter'] = ({ inputTokens }) => void metered.push(inputTokens);
      const usage = { type: 'usage', inputTokens: 1, outputTokens: 1 } as const;
      const events = await collect(provider.runTurn({ ...changed(printing([usage, done]), { confine }), meter }));
      expect([events, metered]).toEqual([[usage, done], [7]]);
    });
  });
});
