import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface RestCall {
  readonly method?: string;
  /** Sent unchanged, however malformed. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Chunks are sent without a content-length; an object is sent as JSON. */
  readonly body?: string | Uint8Array | object | Iterable<Uint8Array>;
}

export interface RestAnswer {
  readonly status: number;
  readonly body: { readonly error?: { readonly code: string; readonly message: string } } & Record<string, unknown>;
}

/** One API call on the daemon's socket with arbitrary bytes. */
export function callRest(home: string, { method, path, headers, body }: RestCall): Promise<RestAnswer> {
  return new Promise((resolve, reject) => {
    const options = {
      socketPath: join(home, 'daemon.sock'),
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      path,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    };
    const outgoing = request(options, async (response) => {
      const answer = await text(response);
      resolve({ status: response.statusCode ?? 0, body: answer === '' ? {} : parse(answer) });
    });
    outgoing.on('error', reject);
    if (isChunks(body)) void sendChunks(outgoing, body);
    else outgoing.end(typeof body === 'object' && !(body instanceof Uint8Array) ? JSON.stringify(body) : body);
  });
}

function isChunks(body: RestCall['body']): body is Iterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array) && !Array.isArray(body) && Symbol.iterator in body;
}

async function sendChunks(outgoing: ReturnType<typeof request>, chunks: Iterable<Uint8Array>): Promise<void> {
  for (const chunk of chunks) {
    if (outgoing.destroyed) return;
    await new Promise((resolve) => outgoing.write(chunk, resolve));
  }
  outgoing.end();
}

function parse(answer: string): RestAnswer['body'] {
  try {
    return JSON.parse(answer);
  } catch {
    throw new Error(`This is not an answer of the API: ${answer.slice(0, 200)}`);
  }
}
