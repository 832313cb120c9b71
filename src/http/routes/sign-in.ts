import { randomBytes, randomUUID } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { USER_ID } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { hashToken, notFromPage, ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Caller, label, line, NewLink, PageToken } from '../schemas.ts';
import { showTime } from '../shown.ts';
import type { SignInCodes } from '../sign-in.ts';
import { personNamed } from './tokens.ts';

const TOKEN_MS = 30 * 86_400_000;
/** A page that is used at least this often never expires. */
const RENEW_MS = 86_400_000;

const LinkWish = z
  .strictObject({ as: label.default(USER_ID).openapi({ description: 'The person; created if needed.' }) })
  .openapi('LinkWish');
const Code = z
  .strictObject({ code: z.string().max(100), label: line(200).default('').openapi({ example: 'Firefox on Linux' }) })
  .openapi('SignIn');
const SignedOut = z.strictObject({ status: z.literal('signed_out') }).openapi('SignedOut');

const link = describe(
  {
    method: 'post',
    path: '/links',
    summary: 'Make a link that signs one browser in to the page, once, within 2 minutes.',
    request: { body: { required: true, content: { 'application/json': { schema: LinkWish } } } },
  },
  { status: 201, description: 'The link. Its code is in the fragment, which browsers do not send.', schema: NewLink },
  { 409: 'An agent has that handle.' },
);
const signIn = describe(
  {
    method: 'post',
    path: '/sign-in',
    summary: "Exchange a link's code for a token of the page. Does not need a token.",
    request: { body: { required: true, content: { 'application/json': { schema: Code } } } },
  },
  { status: 201, description: 'The token. It expires after 30 days without use.', schema: PageToken },
);
const signOut = describe(
  { method: 'post', path: '/sign-out', summary: "Revoke the caller's own token." },
  {
    status: 200,
    description: 'The token is revoked. The browser is told to delete what it stored.',
    schema: SignedOut,
  },
  { 409: 'The caller did not use a token that can be revoked.' },
);
const me = describe(
  { method: 'get', path: '/me', summary: 'Who you are. Extends the life of a page token, at most once a day.' },
  { status: 200, description: 'You, and the token that you use.', schema: Caller },
);

/** Signing in to the page: a link with a one-time code, exchanged for a token that can make no other tokens. */
export function signInRoutes(
  api: Api,
  { codes, address }: { readonly codes: SignInCodes; readonly address: () => string | null },
): Router {
  const routes = createRouter();
  routes.openapi(link, async (c) => {
    const caller = c.get('caller');
    ownerOnly(caller);
    notFromPage(caller);
    const { as } = c.req.valid('json');
    const { handle } = await api.store.write((tx) => personNamed(tx, as, api.clock()));
    const { code, until } = codes.issue(handle, caller.token);
    const base = address();
    const url = base === null ? null : `${base.replace(/\/$/, '')}/#code=${code}`;
    return c.json({ code, as: handle, url, expiresAt: showTime(until) }, 201);
  });
  routes.openapi(signIn, async (c) => {
    const wish = c.req.valid('json');
    const found = codes.redeem(wish.code);
    const token = found && (await createPageToken(api, { ...found, label: wish.label, kind: 'page' }));
    if (token === null) {
      throw new SubstratError(
        'unauthorized',
        'This link was used or is older than 2 minutes. Run `substrat page` to get a new one.',
      );
    }
    return c.json(token, 201);
  });
  routes.openapi(signOut, async (c) => {
    const { signedIn } = c.get('caller');
    if (signedIn === null) throw new SubstratError('conflict', 'You did not sign in with a token that can be revoked.');
    await api.store.write((tx) => tx.tokens.tryRevokeToken({ id: signedIn.id, at: api.clock() }));
    c.header('clear-site-data', '"cache", "storage"');
    return c.json({ status: 'signed_out' as const }, 200);
  });
  routes.openapi(me, async (c) => {
    const { id, handle, owner, signedIn } = c.get('caller');
    const token = signedIn && { ...signedIn, expiresAt: await renew(api, signedIn) };
    return c.json(
      {
        id,
        handle,
        owner,
        version: api.version,
        token: token && {
          id: token.id,
          kind: token.kind,
          expiresAt: token.expiresAt === null ? null : showTime(token.expiresAt),
        },
      },
      200,
    );
  });
  return routes;
}

/**
 * A token of the page for a person, which expires after 30 days without use. Null if the token that began it was revoked
 * meanwhile: who took it does not get another one.
 */
export async function createPageToken(
  api: Api,
  {
    handle,
    by,
    label,
    kind,
  }: {
    readonly handle: string;
    readonly by: string | null;
    readonly label: string;
    readonly kind: 'page' | 'phone';
  },
): Promise<z.infer<typeof PageToken> | null> {
  const token = randomBytes(32).toString('base64url');
  const [id, at] = [randomUUID(), api.clock()];
  const expiresAt = at + TOKEN_MS;
  const person = await api.store.write(async (tx) => {
    if (by !== null && !(await tx.tokens.getTokenOwner({ hash: by, at }))) return null;
    const found = await personNamed(tx, handle, at);
    const hash = hashToken(token);
    await tx.tokens.insertToken({ id, hash, participantId: found.id, label, kind, createdAt: at, expiresAt });
    return found;
  });
  return person && { token, id, as: person.handle, owner: person.id === USER_ID, expiresAt: showTime(expiresAt) };
}

async function renew(api: Api, token: { readonly id: string; readonly expiresAt: number | null }) {
  const expiresAt = api.clock() + TOKEN_MS;
  if (token.expiresAt === null || expiresAt - token.expiresAt < RENEW_MS) return token.expiresAt;
  await api.store.write((tx) => tx.tokens.tryExtendToken({ id: token.id, expiresAt }));
  return expiresAt;
}
