import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';

/** The sender of a request. The owner may see and do everything, others only what is theirs. */
export interface Caller {
  readonly id: string;
  readonly handle: string;
  readonly owner: boolean;
  /** The hash of the token, which may be revoked; null for the home's own token and if none is needed. */
  readonly token: string | null;
}

export interface Door {
  /** `trusted`: a socket that only the owner can open. */
  readonly kind: 'trusted' | 'tcp';
  /** Accepted `Host` values; any other is a foreign name for our address (DNS rebinding). */
  readonly hosts: () => readonly string[];
  /** The home's token; null: everybody who can reach the address has access. */
  readonly token: string | null;
}

const OWNER: Caller = { id: USER_ID, handle: USER_ID, owner: true, token: null };
const OPEN_PATHS = new Set(['/health']);

/** The variables of a handler's context. */
export interface Env {
  readonly Bindings: HttpBindings;
  readonly Variables: { caller: Caller };
}

/** On TCP, requires an exact `Host` and `Origin`, and a token for everything except /health. */
export async function checkAccess(c: Context<Env, string>, store: Store, door: Door): Promise<void> {
  if (door.kind === 'trusted') return c.set('caller', OWNER);
  const { headers } = c.env.incoming;
  checkHost(headers, door);
  if (door.token === null) return c.set('caller', OWNER);
  if (!OPEN_PATHS.has(c.req.path)) c.set('caller', await authenticate(headers, store, door));
}

/** For routes that only the owner may use. */
export function ownerOnly(caller: Caller): void {
  if (!caller.owner) throw new SubstratError('forbidden', 'Only the owner of this daemon may do that.');
}

export function hashToken(token: string): string {
  return hash('sha256', token);
}

function checkHost({ host = '', origin }: IncomingHttpHeaders, door: Door): void {
  const hosts = door.hosts();
  if (!hosts.includes(host.toLowerCase())) {
    throw new SubstratError(
      'forbidden',
      'The Host header does not name this daemon. Use the address that `substrat daemon status` shows.',
    );
  }
  if (origin !== undefined && !hosts.some((own) => origin.toLowerCase() === `http://${own}`)) {
    throw new SubstratError('forbidden', 'Requests from other origins are not allowed.');
  }
}

async function authenticate({ authorization = '' }: IncomingHttpHeaders, store: Store, door: Door): Promise<Caller> {
  const [scheme, token] = authorization.split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !token) {
    throw new SubstratError(
      'unauthorized',
      'A token is required: send Authorization: Bearer with the token from the file "token" in the home.',
    );
  }
  if (door.token !== null && isSame(token, door.token)) return OWNER;
  const hashed = hashToken(token);
  const participant = await store.read((tx) => tx.tokens.getTokenOwner({ hash: hashed }));
  if (!participant) throw new SubstratError('unauthorized', 'The token is unknown or was revoked.');
  return { id: participant.id, handle: participant.handle, owner: participant.id === USER_ID, token: hashed };
}

/** Constant time for tokens of equal length; the length is not secret. */
function isSame(given: string, own: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
}
