import type { Context } from 'hono';
import type { Env } from './access.ts';
import type { Api } from './api.ts';

/** Answers a request of the owner on the node that can: here, or on the other node, which is asked to do the same. */
export async function onNode<T>(
  api: Api,
  c: Context<Env, string>,
  nodeId: string,
  here: () => Promise<T>,
  body?: object,
): Promise<T> {
  if (nodeId === api.nodeId) return here();
  const { pathname, search } = new URL(c.req.url);
  const key = c.req.header('idempotency-key') ?? null;
  const match = c.req.header('if-match') ?? null;
  const call = { method: c.req.method, path: pathname + search, body: body ?? null, key, match };
  return (await api.askNode(nodeId, call)) as T;
}
