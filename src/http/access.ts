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
  /** The stored token: null like `token`. */
  readonly signedIn: SignedIn | null;
}

interface SignedIn {
  readonly id: string;
  readonly kind: 'api' | 'page' | 'phone';
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

export interface Door {
  /** `trusted`: a socket that only the owner can open. */
  readonly kind: 'trusted' | 'tcp';
  /** Accepted `Host` values; any other is a foreign name for our address (DNS rebinding). */
  readonly hosts: () => readonly string[];
  /** The home's token; null: everybody who can reach the address has access. */
  readonly token: string | null;
  /** The address that people use, if a proxy forwards it. Never taken from a header. */
  readonly publicUrl?: URL | null;
  /** Foreign origins whose pages may use this address. */
  readonly origins?: readonly string[];
  /** Whether a request needs no token: the page's own files, and signing in. */
  readonly isOpen?: (method: string, path: string) => boolean;
}

const OWNER: Caller = { id: USER_ID, handle: USER_ID, owner: true, token: null, signedIn: null };
/** How long after its sign-in a page may pair a phone. */
const FRESH_MS = 600_000;
const OPEN_PATHS = new Set(['/health']);

/** The variables of a handler's context. */
export interface Env {
  readonly Bindings: HttpBindings;
  readonly Variables: { caller: Caller };
}

/** On TCP, requires a token for everything that is not open. */
export async function checkAccess(
  c: Context<Env, string>,
  { store, clock }: { readonly store: Store; readonly clock: () => number },
  door: Door,
): Promise<void> {
  if (door.kind === 'trusted' || door.token === null) return c.set('caller', OWNER);
  const { method, path } = c.req;
  if (OPEN_PATHS.has(path) || door.isOpen?.(method, path)) return;
  c.set('caller', await authenticate(c.env.incoming.headers, { store, clock }, door));
}

/** For routes that only the owner may use. */
export function ownerOnly(caller: Caller): void {
  if (!caller.owner) throw new SubstratError('forbidden', 'Only the owner of this daemon may do that.');
}

/** For what a page may not do with its token, however it got it: make tokens and links that sign in. */
export function notFromPage({ signedIn }: Caller): void {
  if (signedIn === null || signedIn.kind === 'api') return;
  throw new SubstratError(
    'forbidden',
    'A page cannot make tokens or links. Run `substrat page` or `substrat token create` on the machine of the daemon.',
  );
}

/** A page may pair a phone soon after a link signed it in: a token that somebody took later makes no other ones. */
export function freshPageOnly({ signedIn }: Caller, now: number): void {
  if (signedIn === null || signedIn.kind === 'api') return;
  if (signedIn.kind === 'page' && now - signedIn.createdAt <= FRESH_MS) return;
  throw new SubstratError(
    'forbidden',
    'Pairing needs a fresh sign-in. Run `substrat page`, open its link here, and pair the phone within 10 minutes.',
  );
}

export function hashToken(token: string): string {
  return hash('sha256', token);
}

/** On TCP, requires an exact `Host` and `Origin`. */
export function checkHost({ host = '', origin }: IncomingHttpHeaders, door: Door): void {
  if (door.kind === 'trusted') return;
  const { publicUrl = null } = door;
  const hosts = door.hosts();
  const isPublic = publicUrl !== null && host.toLowerCase() === publicUrl.host;
  if (!isPublic && !hosts.includes(host.toLowerCase())) {
    throw new SubstratError(
      'forbidden',
      'The Host header does not name this daemon. Use the address that `substrat daemon status` shows.',
    );
  }
  const own = [...hosts.map((name) => `http://${name}`), ...(publicUrl === null ? [] : [publicUrl.origin])];
  const origins = [...own, ...(door.origins ?? [])];
  if (origin !== undefined && !origins.includes(origin.toLowerCase())) {
    throw new SubstratError(
      'forbidden',
      'Requests from other origins are not allowed. `[server] origins` in the configuration allows some.',
    );
  }
}

async function authenticate(
  { authorization = '' }: IncomingHttpHeaders,
  { store, clock }: { readonly store: Store; readonly clock: () => number },
  door: Door,
): Promise<Caller> {
  const [scheme, token] = authorization.split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !token) {
    throw new SubstratError(
      'unauthorized',
      'A token is required: send Authorization: Bearer with the token from the file "token" in the home.',
    );
  }
  if (door.token !== null && isSame(token, door.token)) return OWNER;
  const hashed = hashToken(token);
  const known = await store.read((tx) => tx.tokens.getTokenOwner({ hash: hashed, at: clock() }));
  if (!known) throw new SubstratError('unauthorized', 'The token is unknown, has expired or was revoked.');
  const signedIn = {
    id: known.tokenId,
    kind: known.tokenKind,
    createdAt: known.tokenCreatedAt,
    expiresAt: known.tokenExpiresAt,
  };
  return { id: known.id, handle: known.handle, owner: known.id === USER_ID, token: hashed, signedIn };
}

/** Constant time for tokens of equal length; the length is not secret. */
function isSame(given: string, own: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
}
