import { describe, expect, test } from 'vitest';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { createParser } from './parse.ts';

const parse = (stream: string, resumed: string | null = null) => parseStream(`claude/${stream}`, createParser(resumed));
/** The session is named by every event; it is told once by the loop. */
const told = (stream: string) => outline(parse(stream)).filter((line) => line !== 'session');

describe('the stream of claude', () => {
  test('a turn that calls one of our tools', () => {
    expect(told('t1')).toEqual([
      'call substrat:send_message (ours)',
      'result (ours)',
      'text done: sent to bob by alice',
      'usage 3000 40',
      'done done: sent to bob by alice',
    ]);
    expect(parse('t1').find(({ type }) => type === 'usage')).toMatchObject({
      model: 'mock-model',
      costUsd: expect.closeTo(0.009),
    });
  });

  test('its own tools, with a command that fails', () => {
    const own = ['Bash', 'Read', 'Edit', 'Write'].flatMap((name) => [`call ${name}`, 'result']);
    expect(told('own-tools')).toEqual([
      ...own,
      'call Bash',
      'error',
      'text all done',
      'usage 10200 120',
      'done all done',
    ]);
  });

  test('pieces of a text come before it', () => {
    const said: string[] = [];
    const parser = createParser(null);
    parseStream('claude/deltas', (line) => {
      for (const one of parser(line)) if (one.type === 'delta' || one.type === 'text') said.push(one.text);
      return [];
    });
    expect(said.length).toBeGreaterThan(2);
    expect(said.slice(0, -1).join('')).toBe(said.at(-1));
  });

  test('a new session is reported when it can be resumed, a resumed one at once', () => {
    expect(parse('http400').map(({ type }) => type)).toEqual(['session', 'session', 'error']);
    expect(parse('http400', 'known').map(({ type }) => type)).toEqual(['session', 'session', 'session', 'error']);
  });

  test.each([
    ['http400', { kind: 'invalid_request', message: 'API Error: 400 mock error 400' }],
    ['rl', { kind: 'rate_limit', retryAfterMs: 3_000 }],
    ['drop', { kind: 'overloaded' }],
    ['toolong', { kind: 'context_full' }],
    ['badresume', { kind: 'bad_session' }],
  ])('the failure %s', (stream, failure) => {
    expect(parse(stream).at(-1)).toMatchObject({ type: 'error', ...failure });
  });

  test('a usage limit has the time of its reset', () => {
    const failure = parse('subscription-weekly').at(-1);
    expect(failure).toMatchObject({
      type: 'error',
      kind: 'rate_limit',
      message: expect.stringContaining('weekly limit'),
    });
    const { retryAfterMs = 0 } = failure as { retryAfterMs?: number };
    expect(Math.abs(retryAfterMs - Math.max(0, 1_794_847_487_000 - Date.now()))).toBeLessThan(5_000);
  });

  test('a long wait of the program ends the turn instead', () => {
    const retry = { type: 'system', subtype: 'api_retry', error_status: 429, retry_delay_ms: 3_600_000 };
    const [stopped] = createParser('s')(JSON.stringify(retry));
    expect(stopped).toMatchObject({ type: 'stop', failure: { kind: 'rate_limit', retryAfterMs: 3_600_000 } });
  });
});
