import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { SubstratError } from '../core/errors.ts';
import { checkBounds, JSON_LIMITS } from '../core/json-bounds.ts';
import type { Env } from './access.ts';

const { bytes: MAX_BODY } = JSON_LIMITS;

const countBody = bodyLimit({
  maxSize: MAX_BODY,
  onError: () => {
    throw new SubstratError('too_large', `A body may have at most ${MAX_BODY} bytes.`);
  },
});

/** Reads the body of a request and refuses it where it is larger than JSON may be, before anything parses it. */
export async function boundBody(c: Context<Env, string>): Promise<void> {
  const { headers, method } = c.env.incoming;
  if (method === 'GET' || method === 'HEAD') return;
  // To count a body costs time, and most say how long they are.
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
  if (length === 0) return;
  if (length === null || length > MAX_BODY) await countBody(c, async () => {});
  const bytes = Buffer.from(await c.req.arrayBuffer());
  checkBounds(bytes);
  // What the framework parses; it would make this text from the bytes by a longer way. It keeps promises, its types say texts.
  c.req.bodyCache.text = Promise.resolve(bytes.toString('utf8')) as never;
}

/** The request once more, with its body as it was read. */
export async function rereadRequest(c: Context<Env, string>): Promise<Request> {
  if (c.req.bodyCache.text === undefined) return c.req.raw;
  const { url, method, headers, signal } = c.req.raw;
  return new Request(url, { method, headers, signal, body: await c.req.text() });
}
