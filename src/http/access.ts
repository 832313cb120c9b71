import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';

/** Who a request comes from. The owner may see and do everything, others only what is theirs. */
export interface Caller {
  readonly id: string;
  readonly handle: string;
  readonly owner: boolean;
}

export interface Door {
  /** `trusted`: a socket that only the owner can open. */
  readonly kind: 'trusted' | 'tcp';
  /** Values of `Host` that mean us; others are somebody's name for our address (DNS rebinding). */
  readonly hosts: () => readonly string[];
  /** Hash of the home's token. */
  readonly tokenHash: string;
}

const OWNER: Caller = { id: USER_ID, handle: USER_ID, owner: true };
const OPEN_PATHS = new Set(['/health']);

export type Variables = { caller: Caller };

/** On TCP, exact `Host` and `Origin`, and a token for everything but /health. */
export function checkAccess(store: Store, door: Door): MiddlewareHandler<{ Variables: Variables }> {
  return async (c, next) => {
    if (door.kind === 'trusted') {
      c.set('caller', OWNER);
      return next();
    }
    checkHost(c, door);
    if (!OPEN_PATHS.has(c.req.path)) c.set('caller', await authenticate(c, store, door));
    return next();
  };
}

/** For what is the owner's alone. */
export function ownerOnly(caller: Caller): void {
  if (!caller.owner) throw new SubstratError('forbidden', 'Only the owner of this daemon may do that.');
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function checkHost(c: Context, door: Door): void {
  const hosts = door.hosts();
  const host = c.req.header('host') ?? '';
  if (!hosts.includes(host.toLowerCase())) {
    throw new SubstratError('forbidden', 'That Host is not this daemon; use the address that `daemon status` shows.');
  }
  const origin = c.req.header('origin');
  if (origin !== undefined && !hosts.some((own) => origin.toLowerCase() === `http://${own}`)) {
    throw new SubstratError('forbidden', 'Pages of other origins may not use this daemon.');
  }
}

async function authenticate(c: Context, store: Store, door: Door): Promise<Caller> {
  const [scheme, token] = (c.req.header('authorization') ?? '').split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !token) {
    throw new SubstratError(
      'unauthorized',
      'A token is needed: Authorization: Bearer, from the file "token" of the home.',
    );
  }
  const hash = hashToken(token);
  if (timingSafeEqual(Buffer.from(hash), Buffer.from(door.tokenHash))) return OWNER;
  const participant = await store.read((tx) => tx.getTokenOwner({ hash }));
  if (!participant) throw new SubstratError('unauthorized', 'That token is unknown or was revoked.');
  return { id: participant.id, handle: participant.handle, owner: participant.id === USER_ID };
}
