import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type EmbeddingServer, embeddingSettings, startEmbeddingServer } from '../../test/helpers/embedding-server.ts';
import { createEmbedder, type Embedder, type EmbeddingSettings } from './embedding.ts';

let server: EmbeddingServer;
beforeAll(async () => {
  server = await startEmbeddingServer();
});
beforeEach(() => {
  server.requests.length = 0;
  server.refusals.length = 0;
});
afterAll(() => server.close());

const embedder = (change: Partial<EmbeddingSettings> = {}): Embedder =>
  createEmbedder(embeddingSettings({ url: server.url, ...change }), { models: '/nowhere' }) as Embedder;

test('returns null if embeddings are disabled', () => {
  expect(createEmbedder(embeddingSettings({ provider: 'disabled' }), { models: '/nowhere' })).toBeNull();
});

describe.each(['openai', 'ollama'] as const)('%s', (provider) => {
  test('returns vectors of length 1, in the order of the texts, in batches', async () => {
    const made = await embedder({ provider, batch: 2 }).embed(['car car', 'a doctor by the sea', 'bread'], 'passage');
    expect(made.map((vector) => [...vector].map((value) => Math.round(value * 100) / 100))).toEqual([
      [1, 0, 0, 0, 0],
      [0, 0.71, 0.71, 0, 0],
      [0, 0, 0, 1, 0],
    ]);
    expect(server.requests.map(({ body }) => body.input.length)).toEqual([2, 1]);
    expect(server.requests[0]?.path).toBe(provider === 'ollama' ? '/api/embed' : '/embeddings');
  });

  test('retries transient errors', async () => {
    server.refusals.push({ status: 503, body: 'busy' }, { status: 429, body: 'slow', headers: { 'retry-after': '0' } });
    expect(await embedder({ provider }).embed(['car'], 'passage')).toHaveLength(1);
    expect(server.requests).toHaveLength(3);
  });

  test('does not retry permanent errors, and never shows the key', async () => {
    server.refusals.push({ status: 401, body: 'wrong key: sk-secret' });
    const failed = embedder({ provider, apiKey: 'sk-secret' }).embed(['car'], 'passage');
    await expect(failed).rejects.toMatchObject({ code: 'tool_error', message: expect.stringContaining('status 401') });
    await expect(failed).rejects.not.toThrow('sk-secret');
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.key).toBe('Bearer sk-secret');
  });
});

test('a response that is invalid or has too few vectors is an error', async () => {
  server.refusals.push({ status: 200, body: '{"data":[]}' });
  await expect(embedder().embed(['car'], 'passage')).rejects.toThrow('0 vectors for 1 texts');
  server.refusals.push({ status: 200, body: '<html>' });
  await expect(embedder().embed(['car'], 'passage')).rejects.toThrow('a response that cannot be parsed');
});

test('a response beyond the limits is not parsed', async () => {
  const numbers = '1,'.repeat(20_000);
  for (const body of [`{"data":[{"index":0,"embedding":[${numbers}1]}]}`, '['.repeat(1_000_000)]) {
    server.refusals.push({ status: 200, body });
    await expect(embedder().embed(['car'], 'passage')).rejects.toThrow('a response that cannot be parsed');
  }
  server.refusals.push({ status: 200, body: ' '.repeat(9_000_000) });
  await expect(embedder({ retries: 0 }).embed(['car'], 'passage')).rejects.toThrow('sent more than 8388608 bytes');
});

test('another model or dimension has another name', () => {
  const names = [
    embedder(),
    embedder({ model: 'm' }),
    embedder({ model: 'm', dimension: 8 }),
    embedder({ provider: 'ollama' }),
  ];
  expect(new Set(names.map(({ model }) => model)).size).toBe(4);
});
