import { describe, expect, test } from 'vitest';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { createReader } from './read.ts';

/** The notifications of one turn of the app server. */
function read(stream: string, now = Date.now()) {
  const reader = createReader({ now: () => now });
  return parseStream(`codex/${stream}`, (line) => {
    const { method, params } = line ? JSON.parse(line) : {};
    if (method === 'turn/started') reader.begin(params.threadId);
    return method === undefined ? [] : reader.read(method, params);
  });
}

describe('the notifications of codex', () => {
  test('a turn with one of our tools and one of its own', () => {
    const text = 'This is a longer answer so that there are several deltas in the stream of the model, done.';
    expect(outline(read('turn'))).toEqual([
      'session',
      'call substrat:send_message (ours)',
      'call substrat:send_message (ours)',
      'result (ours)',
      'usage 1000 20',
      'call shell',
      'call shell',
      'result',
      'usage 1000 20',
      `text ${text}`,
      'usage 1000 20',
      `done ${text}`,
    ]);
  });

  test('a usage limit with the time of its reset', () => {
    const said = read('usage', 1_794_847_600_000);
    expect(said.at(-1)).toMatchObject({ type: 'error', kind: 'rate_limit', retryAfterMs: 12_000 });
  });

  test.each([
    ['orl', 'rate_limit'],
    ['ctx', 'context_full'],
  ])('the failure %s', (stream, kind) => {
    expect(read(stream).at(-1)).toMatchObject({ type: 'error', kind });
  });

  test('what a resumed thread used before this turn is not counted again', () => {
    const reader = createReader();
    reader.begin('t');
    const used = (total: number, last: number) =>
      reader.read('thread/tokenUsage/updated', {
        threadId: 't',
        tokenUsage: {
          total: { inputTokens: total, outputTokens: 1 },
          last: { inputTokens: last, outputTokens: 1 },
        },
      });
    expect(used(500, 100)).toEqual([]);
    reader.read('turn/started', { threadId: 't' });
    expect(used(700, 200)).toEqual([{ type: 'usage', inputTokens: 200, outputTokens: 0 }]);
    expect(used(700, 200)).toEqual([]);
  });

  test('the words of another thread are not the agent’s', () => {
    const reader = createReader();
    reader.begin('own');
    const item = { type: 'agentMessage', id: 'm', text: 'from a subagent' };
    expect(reader.read('item/completed', { threadId: 'other', item })).toEqual([]);
    expect(reader.read('turn/completed', { threadId: 'other', turn: { status: 'completed' } })).toEqual([]);
  });
});
