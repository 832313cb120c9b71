import { describe, expect, test } from 'vitest';
import type { Dialect } from '../core/command.ts';
import { admit, shownHeaders } from './dialect.ts';

const BASE = 'https://api.example.com/base';

function ask(dialect: Dialect, request: string, fields: object = { model: 'm' }, models?: readonly string[]) {
  const [method = '', path = ''] = request.split(' ');
  const endpoint = { variable: 'X', url: BASE, headers: {}, dialect, ...(models && { models }) };
  const nowhere = { everywhere: false, allows: () => false };
  return admit(endpoint, method, new URL(`${BASE}${path}`), Buffer.from(JSON.stringify(fields)), nowhere);
}

const sent = (...asked: Parameters<typeof ask>) => JSON.parse(String(ask(...asked).body));

describe('admit()', () => {
  test.each([
    ['anthropic', 'POST /v1/messages'],
    ['anthropic', 'POST /v1/messages?beta=true'],
    ['anthropic', 'POST /v1/messages/count_tokens'],
    ['anthropic', 'GET /v1/models'],
    ['openai', 'POST /responses'],
    ['openai', 'POST /v1/chat/completions'],
    ['openai', 'GET /models/qwen3:8b'],
    ['gemini', 'POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse'],
    ['gemini', 'GET /v1beta/models'],
  ] as const)('lets %s pass with %s', (dialect, request) => {
    expect(ask(dialect, request).url.href).toBe(`${BASE}${request.split(' ')[1]}`);
  });

  test.each([
    ['anthropic', 'POST /v1/files'],
    ['anthropic', 'POST /v1/messages/batches'],
    ['anthropic', 'GET /v1/messages'],
    ['anthropic', 'GET /v1/organizations/users'],
    ['anthropic', 'POST /v1/messages%2Fbatches'],
    ['openai', 'GET /responses/resp_1'],
    ['openai', 'DELETE /responses/resp_1'],
    ['openai', 'POST /files'],
    ['openai', 'POST /batches'],
    ['openai', 'DELETE /models/mine'],
    ['openai', 'POST /api/pull'],
    ['openai', 'GET /models/../files'],
    ['gemini', 'POST /v1beta/models/m:batchGenerateContent'],
    ['gemini', 'POST /v1beta/files'],
    ['gemini', 'POST /v1beta/cachedContents'],
  ] as const)('refuses %s with %s', (dialect, request) => {
    expect(() => ask(dialect, request)).toThrow(/is not a model request/);
  });

  test('refuses a body that would block the daemon, before it is parsed', () => {
    const keys = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 1]));
    expect(() => ask('openai', 'POST /responses', { model: 'm', ...keys })).toThrow(/at most 50000 keys/);
    expect(ask('openai', 'POST /responses', { model: 'm', input: 'x'.repeat(9_000_000) }).generates).toBe(true);
    expect(ask('anthropic', 'POST /v1/messages/count_tokens').generates).toBe(false);
    expect(ask('gemini', 'POST /v1beta/models/m:countTokens').generates).toBe(false);
  });

  test('refuses a model that is not listed, in the body or in the path', () => {
    expect(() => ask('openai', 'POST /responses', { model: 'large' }, ['small'])).toThrow(
      /may not use the model large/,
    );
    expect(() => ask('gemini', 'POST /v1beta/models/large:countTokens', {}, ['small'])).toThrow(/may not use/);
    expect(() => ask('gemini', 'POST /v1beta/models/large:countTokens', { model: 'small' }, ['small'])).toThrow();
    expect(() => ask('anthropic', 'POST /v1/messages', {})).toThrow(/does not name a model/);
    expect(() => ask('anthropic', 'POST /v1/messages', [{ model: 'm' }])).toThrow(/must be a JSON object/);
    expect(sent('openai', 'POST /responses', { model: 'small' }, ['small'])).toMatchObject({ model: 'small' });
  });

  test('does not let a response be stored, and none be read', () => {
    expect(sent('openai', 'POST /responses', { model: 'm', store: true })).toEqual({ model: 'm', store: false });
    expect(sent('openai', 'POST /responses')).toEqual({ model: 'm', store: false });
    expect(sent('openai', 'POST /chat/completions', { model: 'm', store: true })).toEqual({ model: 'm', store: false });
    // A compatible service may not know the field.
    expect(sent('openai', 'POST /chat/completions')).toEqual({ model: 'm' });
    for (const field of ['previous_response_id', 'conversation', 'background'])
      expect(() => ask('openai', 'POST /responses', { model: 'm', [field]: 'x' })).toThrow(/stored at the service/);
  });

  test('removes a key from the query', () => {
    const { url } = ask('gemini', 'POST /v1beta/models/m:generateContent?key=theirs&alt=sse', {});
    expect(url.search).toBe('?alt=sse');
  });
});

test('shownHeaders() keeps what a program needs and nothing else', () => {
  const kept = {
    'content-type': 'text/event-stream',
    'retry-after': '3',
    'anthropic-ratelimit-requests-reset': 'x',
    'x-ratelimit-remaining-tokens': '1',
  };
  const dropped = { 'set-cookie': 'a', location: 'http://x', 'anthropic-organization-id': 'o', server: 's' };
  expect(shownHeaders({ ...kept, ...dropped })).toEqual(kept);
});
