import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came.
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Record<string, string>;
}

/** One request to a home's socket, or to a URL. */
export function ask(
  where: { readonly home: string } | { readonly url: string },
  path: string,
  options: Ask = {},
): Promise<Answer> {
  const { method = 'GET', body, raw, headers = {} } = options;
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const common = { method, headers: { ...type, ...headers }, agent: false as const };
  return new Promise((resolve, reject) => {
    const outgoing =
      'home' in where
        ? request({ ...common, socketPath: join(where.home, 'daemon.sock'), path })
        : request(new URL(path, where.url), common);
    outgoing.on('error', reject);
    outgoing.on('response', async (response) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of response) chunks.push(chunk as Buffer);
      } catch (error) {
        return reject(error as Error);
      }
      const text = Buffer.concat(chunks).toString();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
    });
    outgoing.end(raw ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
