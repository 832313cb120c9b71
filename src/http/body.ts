import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { SubstratError } from '../core/errors.ts';
import { checkBounds, JSON_LIMITS } from '../core/json-bounds.ts';
import type { Env } from './access.ts';

const { bytes: MAX_BODY } = JSON_LIMITS;

const countBody = bodyLimit({
  maxSize: MAX_BODY,
  onError: () => {
    throw new SubstratError('too_large', `A request body may have at most ${MAX_BODY} bytes.`);
  },
});

/** Reads the body of a request and refuses it if it exceeds the JSON limits, before anything parses it. */
export async function boundBody(c: Context<Env, string>): Promise<void> {
  const { headers, method } = c.env.incoming;
  if (method === 'GET' || method === 'HEAD') return;
  // Counting a body costs time, and most requests declare its length.
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
  if (length === 0) return;
  if (length === null || length > MAX_BODY) await countBody(c, async () => {});
  const bytes = Buffer.from(await c.req.arrayBuffer());
  checkBounds(bytes);
  // The framework parses this text; decoding it here is faster. The cache holds promises although its type says
  // strings.
  c.req.bodyCache.text = Promise.resolve(bytes.toString('utf8')) as never;
}

/** A copy of the request with the body that was read. */
export async function rereadRequest(c: Context<Env, string>): Promise<Request> {
  if (c.req.bodyCache.text === undefined) return c.req.raw;
  const { url, method, headers, signal } = c.req.raw;
  return new Request(url, { method, headers, signal, body: await c.req.text() });
}
