import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { obedient } from '../../../test/fake-model/mind.ts';
import type { Answer, Mind } from '../../../test/fake-model/model.ts';
import { type FakeModel, startFakeModel } from '../../../test/fake-model/server.ts';
import { processesOf } from '../../../test/helpers/run-processes.ts';
import { type Changes, changed, collect, makeTurn } from '../provider.testsuite.ts';
import type { ProviderEvent, Turn } from '../provider.ts';
import { llmDefaults } from './describe.ts';
import { type LlmOptions, llm } from './llm.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let model: FakeModel;
let turn: Turn;

beforeEach(async () => {
  model = await startFakeModel({ key: 'right', mind: obedient });
  turn = makeTurn(mkdtempSync(join(tmpdir(), 'llm-')));
});
afterEach(async () => {
  await model.close();
  rmSync(turn.workspace, { recursive: true });
  expect(processesOf(turn.runId)).toEqual([]);
});

type Name = 'anthropic' | 'responses' | 'chat';

function options(dialect: Name, more: Partial<LlmOptions> = {}): LlmOptions {
  const { idleTimeout: _, ...defaults } = llmDefaults;
  const fake = { base_url: `${model.url}/v1`, api_key: 'right', dialect };
  const env = { PATH: process.env.PATH ?? '' };
  return { ...defaults, idleMs: 10_000, model: 'fake/m', endpoints: { fake }, env, ...more };
}

function run(dialect: Name, prompt: string, { more = {}, ...changes }: Changes & { more?: Partial<LlmOptions> } = {}) {
  return collect(llm(options(dialect, more)).runTurn(changed(turn, { prompt, ...changes })));
}

const last = (events: readonly ProviderEvent[]) => events.at(-1);
const without = (events: readonly ProviderEvent[]) => events.filter(({ type }) => type !== 'delta');
const sessionOf = (events: readonly ProviderEvent[]) =>
  events.flatMap((event) => (event.type === 'session' ? [event.session] : []))[0] as string;
/** Answers in this order; the last one for all further requests. */
const inOrder = (...answers: Answer[]): Mind => {
  let n = 0;
  return () => answers[Math.min(n++, answers.length - 1)] as Answer;
};

describe.each(['anthropic', 'responses', 'chat'] as const)('llm in the dialect %s', (dialect) => {
  test('streams an answer, and counts its tokens', async () => {
    const events = await run(dialect, 'Hello, model.');
    const deltas = events.flatMap((event) => (event.type === 'delta' ? [event.text] : []));
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join('')).toBe('I heard 1: Hello, model.');
    expect(without(events)).toEqual([
      { type: 'session', session: expect.any(String) },
      { type: 'usage', inputTokens: 100, outputTokens: 10, model: 'fake/m', metered: true },
      { type: 'done', text: 'I heard 1: Hello, model.' },
    ]);
    expect(model.requests[0]).toMatchObject({ model: 'm', stream: true, system: expect.stringContaining('Be brief.') });
  });

  test('carries the conversation into the next turn', async () => {
    const session = sessionOf(await run(dialect, 'My name is Ann.'));
    const events = await run(dialect, 'Who am I?', { session, runId: 'second' });
    expect(last(events)).toEqual({ type: 'done', text: 'I heard 2: Who am I?' });
    expect(events.some(({ type }) => type === 'session')).toBe(false);
    expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual([
      'My name is Ann.',
      'I heard 1: My name is Ann.',
      'Who am I?',
    ]);
  });

  test('calls workspace tools in one process that ends with the turn', async () => {
    writeFileSync(join(turn.workspace, 'note.txt'), 'first\nsecond\n');
    const pids: number[] = [];
    const events = await run(
      dialect,
      '[[call read_file {"path":"note.txt"}]] [[call run_command {"command":"echo $((6*7)); exit 3"}]]',
      { onSpawn: async ({ pid }) => void pids.push(pid) },
    );
    expect(events.filter(({ type }) => type === 'tool_call')).toHaveLength(2);
    expect(events.filter(({ type }) => type === 'tool_result')).toEqual([
      { type: 'tool_result', id: expect.any(String), result: '1\tfirst\n2\tsecond', isError: false },
      { type: 'tool_result', id: expect.any(String), result: '42\n[exit code 3]', isError: true },
    ]);
    expect(last(events)).toEqual({
      type: 'done',
      text: expect.stringMatching(/1\tfirst\n2\tsecond\n.*42.*exit code 3/s),
    });
    expect(pids).toHaveLength(1);
    expect(processesOf(turn.runId)).toEqual([]);
  });

  test('sees an image that it reads', async () => {
    writeFileSync(join(turn.workspace, 'dot.png'), Buffer.from(PNG, 'base64'));
    await run(dialect, '[[call read_file {"path":"dot.png"}]]');
    expect(JSON.stringify(model.requests[1]?.body)).toContain(PNG);
    await run(dialect, '[[call read_file {"path":"dot.png"}]]', { more: { images: false } });
    expect(JSON.stringify(model.requests[3]?.body)).not.toContain(PNG);
  });

  test('goes on after failures that pass, and says which do not', async () => {
    const overloaded = { status: 529, message: 'Overloaded', error: { type: 'overloaded_error' } };
    const limited = { status: 429, message: 'Slow down.', headers: { 'retry-after': '0' } };
    model.become(inOrder(overloaded, limited, { text: 'This is cut off here.', drop: true }, { text: 'At last.' }));
    expect(last(await run(dialect, 'Go.'))).toEqual({ type: 'done', text: 'At last.' });
    expect(model.requests).toHaveLength(4);
  });

  test.each<[string, Answer, object]>([
    ['a wrong request', { status: 400, message: 'No such field.' }, { kind: 'invalid_request' }],
    [
      'a limit with a distant end',
      { status: 429, message: 'Rate limit.', headers: { 'retry-after': '3600' } },
      { kind: 'rate_limit', retryAfterMs: 3_600_000 },
    ],
    [
      'an exhausted quota',
      { status: 429, message: 'You exceeded your current quota.', error: { code: 'insufficient_quota' } },
      { kind: 'rate_limit', retryAfterMs: 3_600_000 },
    ],
  ])('does not repeat %s', async (_, answer, failure) => {
    model.become(() => answer);
    const events = await run(dialect, 'Go.');
    expect(last(events)).toMatchObject({ type: 'error', message: expect.stringContaining('HTTP 4'), ...failure });
    expect(model.requests).toHaveLength(1);
  });

  test('reports a wrong key without showing it', async () => {
    const fake = { base_url: `${model.url}/v1`, api_key: 'sk-wrong', dialect };
    const events = await run(dialect, 'Go.', { more: { endpoints: { fake } } });
    expect(last(events)).toMatchObject({ type: 'error', kind: 'auth' });
    expect(JSON.stringify(events)).not.toContain('sk-wrong');
  });

  test('can be cancelled while the model hangs, and closes the connection', async () => {
    const controller = new AbortController();
    model.become(() => {
      setImmediate(() => controller.abort());
      return 'hang';
    });
    const events = await run(dialect, 'Go.', { signal: controller.signal });
    expect(last(events)).toEqual({ type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' });
    await expect.poll(() => model.hanging()).toBe(0);
  });

  test('ends at its time limit', async () => {
    model.become(() => 'hang');
    const message = 'The turn was ended at its time limit of 0.3 s.';
    expect(last(await run(dialect, 'Go.', { timeoutMs: 300 }))).toEqual({ type: 'error', kind: 'timeout', message });
  });

  test('gives up a model that does not stop', async () => {
    const calls = Array.from({ length: 300 }, (_, i) => ({ id: `c${i}`, name: 'read_file', arguments: { path: 'x' } }));
    model.become(() => ({ text: '', calls }));
    expect(last(await run(dialect, 'Go.'))).toMatchObject({
      ...{ type: 'error', kind: 'invalid_request' },
      message: expect.stringContaining('more than 200 tools'),
    });
    expect(model.requests).toHaveLength(1);
  });

  test.each([200, 500])('gives up an answer of status %i without an end', async (status) => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    let sent = 0;
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += 1;
        response.once('drain', more);
      };
      more();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const fake = { base_url: `http://127.0.0.1:${port}/v1`, api_key: 'right', dialect };
    const events = await run(dialect, 'Go.', { more: { endpoints: { fake } } });
    expect(last(events)).toMatchObject({ type: 'error', message: expect.stringContaining('more than 33554432 bytes') });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(sent).toBeLessThan(100);
  });

  test('gives up a model that is silent', async () => {
    model.become(() => 'hang');
    const events = await run(dialect, 'Go.', { more: { idleMs: 200, maxRetries: 1 } });
    const message = expect.stringContaining('the model was silent for 0.2 s');
    expect(last(events)).toEqual({ type: 'error', kind: 'overloaded', message });
    expect(model.requests).toHaveLength(2);
  });

  test('ends at the limit of model calls', async () => {
    model.become(() => ({ text: 'Again.', calls: [{ name: 'list_files', arguments: {} }] }));
    const events = await run(dialect, 'Go.', { more: { maxTurns: 3 } });
    expect(last(events)).toEqual({ type: 'done', text: 'Again.', stopReason: 'max_steps' });
    expect(model.requests).toHaveLength(3);
  });

  test('answers calls that it cannot execute', async () => {
    const calls = [
      { name: 'no_such_tool', arguments: {} },
      { name: 'read_file', arguments: { path: 1 } },
      { name: 'read_file', arguments: ['x'] },
    ];
    model.become(inOrder({ calls }, { text: 'Sorry.' }));
    const results = (await run(dialect, 'Go.')).filter(({ type }) => type === 'tool_result');
    expect(results).toMatchObject([
      { result: 'There is no tool "no_such_tool".', isError: true },
      { result: expect.stringMatching(/read_file: path/), isError: true },
      { result: 'The arguments were not a valid JSON object. Nothing was executed.', isError: true },
    ]);
    expect(last(await run(dialect, 'Go.'))).toEqual({ type: 'done', text: 'Sorry.' });
  });
});

describe('llm', () => {
  test('marks what Anthropic should cache', async () => {
    await run('anthropic', 'Hello.');
    const body = JSON.stringify(model.requests[0]?.body);
    expect(body.match(/"cache_control":\{"type":"ephemeral"\}/g)).toHaveLength(2);
  });

  test('stores nothing at OpenAI', async () => {
    await run('responses', 'Hello.');
    expect(model.requests[0]?.body).toMatchObject({ store: false, prompt_cache_key: expect.any(String) });
  });

  test('does not follow a redirect with its key', async () => {
    const events = await run('chat', '[[http 302 {"headers":{"location":"http://127.0.0.1:1/"}}]]', {
      more: { maxRetries: 0 },
    });
    expect(last(events)).toMatchObject({ type: 'error' });
    expect(model.requests).toHaveLength(1);
  });

  test('says what is missing', async () => {
    const problem = async (more: Partial<LlmOptions>, changes: Changes = {}) =>
      last(await run('chat', 'Go.', { more, ...changes }));
    const failed = (message: string) => ({
      type: 'error',
      kind: 'invalid_request',
      message: expect.stringContaining(message),
    });
    expect(await problem({ model: null })).toEqual(failed('does not have a model. Set --model'));
    expect(await problem({}, { model: 'gpt-5' })).toEqual(failed('write ENDPOINT/MODEL'));
    expect(await problem({}, { model: 'nowhere/x' })).toEqual(failed('[providers.llm.endpoints.nowhere] base_url'));
    expect(await problem({}, { model: 'anthropic/x' })).toEqual(failed('Set ANTHROPIC_API_KEY'));
  });

  test('reports a conversation that is not in the store', async () => {
    const events = await run('chat', 'Go.', { session: 'gone' });
    expect(events).toEqual([{ type: 'error', kind: 'bad_session', message: expect.stringContaining('gone') }]);
  });
});
