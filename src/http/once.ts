import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { SubstratError } from '../core/errors.ts';
import { canonicalJson } from '../core/text.ts';
import type { Tx } from '../store/store.ts';
import type { Env } from './access.ts';
import type { Api, Posted } from './api.ts';

const MAX_KEY = 200;

/** Only documented: to validate one header, the framework would build an object of all of them. */
export const keyParameter = {
  name: 'idempotency-key',
  in: 'header' as const,
  required: false,
  schema: { type: 'string' as const, minLength: 1, maxLength: MAX_KEY },
};

/**
 * Executes a post in one transaction. With an `Idempotency-Key`, effect and response are stored together: the same
 * key with the same arguments gets the same response without a second effect; with other arguments it is an error.
 */
export async function once<T>(
  api: Api,
  c: Context<Env, string>,
  args: unknown,
  effect: (tx: Tx) => Promise<T>,
  /** Names what it changes, as for `store.write`. */
  ...like: readonly string[]
): Promise<Posted<T>> {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return { value: await api.store.write(effect, ...like), fresh: true };
  if (key === '' || key.length > MAX_KEY) {
    throw new SubstratError('bad_request', `An Idempotency-Key has 1 to ${MAX_KEY} characters.`);
  }
  const participantId = c.get('caller').id;
  const what = `${c.req.method} ${c.req.path} ${canonicalJson(args)}`;
  const request = createHash('sha256').update(what).digest('base64url');
  return api.store.write(
    async (tx) => {
      const earlier = await tx.idempotency.getResponse({ participantId, key });
      if (earlier && earlier.request !== request) {
        throw new SubstratError('conflict', 'This Idempotency-Key was used for another request; use a new one.');
      }
      if (earlier) return { value: earlier.response as T, fresh: false };
      const value = await effect(tx);
      await tx.idempotency.insertResponse({
        participantId,
        key,
        request,
        status: 200,
        response: value,
        createdAt: api.clock(),
      });
      return { value, fresh: true };
    },
    ...like,
  );
}
