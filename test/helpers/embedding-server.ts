import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EmbeddingSettings } from '../../src/knowledge/embedding.ts';

/** Synonyms share one dimension of the vector. */
const MEANINGS = [
  ['car', 'automobile', 'vehicle'],
  ['doctor', 'physician', 'surgeon'],
  ['sea', 'ocean', 'water'],
  ['bread', 'loaf', 'bakery'],
];

export interface EmbeddingServer {
  readonly url: string;
  /** The requests, in order. */
  readonly requests: { readonly path: string; readonly key: string | undefined; readonly body: { input: string[] } }[];
  /** Error responses to send before any vector, in order. */
  readonly refusals: { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }[];
  close(): Promise<void>;
}

/** A real server with the APIs of Ollama and OpenAI that knows a few words. */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const requests: EmbeddingServer['requests'] = [];
  const refusals: EmbeddingServer['refusals'] = [];
  const server: Server = createServer(async (request, response) => {
    const body = JSON.parse(await readBody(request));
    requests.push({ path: request.url ?? '', key: request.headers.authorization, body });
    const refusal = refusals.shift();
    if (refusal) {
      response.writeHead(refusal.status, refusal.headers).end(refusal.body);
      return;
    }
    const vectors = (body.input as string[]).map(meaningOf);
    const answer =
      request.url === '/api/embed'
        ? { embeddings: vectors }
        : { data: vectors.map((embedding, index) => ({ index, embedding })).reverse() };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function embeddingSettings(change: Partial<EmbeddingSettings>): EmbeddingSettings {
  const none = { model: null, url: null, apiKey: null, dimension: null, path: null };
  return { provider: 'openai', batch: 32, retries: 2, timeoutMs: 5000, ...none, ...change };
}

function meaningOf(text: string): number[] {
  const words = text.toLowerCase().split(/[^a-z]+/);
  const vector = MEANINGS.map((meaning) => words.filter((word) => meaning.includes(word)).length);
  return [...vector, vector.some((count) => count > 0) ? 0 : 1];
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request) body += part;
  return body;
}
