import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { ModelAnswer } from '../core/command.ts';
import { meter, waitOf } from './meter.ts';

/** A response that arrives in these pieces, as the meter reports it. */
async function metered(
  pieces: readonly string[],
  type = 'text/event-stream',
  status = 200,
  { bytes = null, leaves = false }: { bytes?: number | null; leaves?: boolean } = {},
): Promise<ModelAnswer> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': type, 'retry-after': '7' });
    for (const piece of pieces) response.write(piece);
    if (!leaves) response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const sent = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return await new Promise((resolve) => {
      meter(answer, { model: 'm', bytes }, resolve);
      const all = pieces.join('').length;
      let seen = 0;
      answer.on('data', (chunk: Buffer) => {
        seen += chunk.length;
        if (leaves && seen === all) answer.destroy();
      });
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('meter()', () => {
  test.each([
    [
      'Messages',
      [
        'event: message_start\ndata: {"message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}\n\nda',
        'ta: {"type":"message_delta","usage":{"output_tokens":20}}\n\n',
      ],
    ],
    [
      'Responses',
      [
        'data: {"response":{"usage":null}}\n\ndata: {"response":{"usa',
        'ge":{"input_tokens":15,"output_tokens":20}}}\n',
      ],
    ],
    [
      'Chat Completions',
      ['data: {"choices":[]}\n\ndata: {"usage":{"prompt_tokens":15,"completion_tokens":20}}\n\ndata: [DONE]\n\n'],
    ],
    ['Gemini', ['data: {"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":20}}']],
  ])('counts the tokens of %s while they are streamed', async (_, pieces) => {
    expect(await metered(pieces)).toMatchObject({ inputTokens: 15, outputTokens: 20, model: 'm', status: 200 });
  });

  test('counts those of a response that is not a stream', async () => {
    const pieces = ['{\n "usage": {"input_tok', 'ens": 1,\n "output_tokens": 2}}'];
    expect(await metered(pieces, 'application/json')).toMatchObject({ inputTokens: 1, outputTokens: 2 });
  });

  test('estimates what the service has not said: the program left before, or did not ask for it', async () => {
    const delta = `data: ${JSON.stringify({ choices: [{ delta: { content: 'word' } }] })}\n\n`;
    const stream = [delta.repeat(100)];
    const estimated = { inputTokens: 1_000, outputTokens: Math.ceil((delta.length * 100) / 16) };
    const asked = { bytes: 4_000 };
    expect(await metered(stream, 'text/event-stream', 200, { ...asked, leaves: true })).toMatchObject(estimated);
    expect(await metered(stream, 'text/event-stream', 200, asked)).toMatchObject(estimated);
    const start = 'data: {"message":{"usage":{"input_tokens":10,"output_tokens":1}}}\n\n';
    const cut = await metered([start, ...stream], 'text/event-stream', 200, { ...asked, leaves: true });
    expect(cut.inputTokens).toBe(10);
    expect(cut.outputTokens).toBeGreaterThan(100);
    // Nothing was written.
    expect(await metered(stream, 'text/event-stream', 429, asked)).toMatchObject({ inputTokens: 0, outputTokens: 0 });
    expect(await metered(['{"input_tokens":3}'], 'application/json')).toMatchObject({ inputTokens: 0 });
  });

  test('reports a limit, and is not misled by nonsense', async () => {
    const pieces = [
      'data: {"usage":\ndata: {"usage":{"input_tokens":-5,"output_tokens":"9"}}\n',
      'x'.repeat(3_000_000),
    ];
    expect(await metered(pieces, 'text/event-stream', 429)).toEqual({
      status: 429,
      model: 'm',
      inputTokens: 0,
      outputTokens: 0,
      retryAfterMs: 7_000,
    });
  });
});

test('waitOf() reads seconds, milliseconds and dates', () => {
  expect(waitOf({ 'retry-after': '2' })).toBe(2_000);
  expect(waitOf({ 'retry-after': '2', 'retry-after-ms': '30' })).toBe(30);
  expect(waitOf({ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT' }, Date.parse('2026-01-01T00:00:00Z'))).toBe(10_000);
  expect(waitOf({ 'retry-after': 'soon' })).toBe(null);
  expect(waitOf({})).toBe(null);
});
