import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { freshPageOnly } from '../access.ts';
import type { Api } from '../api.ts';
import type { Pairings } from '../pairings.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { line, PageToken, time } from '../schemas.ts';
import { showTime } from '../shown.ts';
import { createPageToken } from './sign-in.ts';

const params = z.strictObject({ id: z.string() });
const body = <S extends z.ZodType>(schema: S) => ({ required: true, content: { 'application/json': { schema } } });
const NONE = { 404: 'It does not exist, it is too old, or it is not yours.' };
const Pairing = z
  .strictObject({
    id: z.string(),
    url: z.string().openapi({ description: 'To be shown as a QR code. Its code is in the fragment.' }),
    expiresAt: time,
  })
  .openapi('Pairing');
const PairingState = z
  .strictObject({
    state: z.enum(['open', 'claimed']),
    label: z.string().nullable().openapi({ description: 'The browser that scanned the code.' }),
    check: z.string().nullable().openapi({ description: 'The number that this browser shows.' }),
  })
  .openapi('PairingState');
const Claim = z.strictObject({ claim: z.string(), check: z.string(), expiresAt: time }).openapi('PairingClaim');
const Redeemed = z
  .strictObject({ status: z.enum(['waiting', 'confirmed']), token: z.strictObject(PageToken.shape).nullable() })
  .openapi('PairingRedeemed');

const start = describe(
  {
    method: 'post',
    path: '/',
    summary: 'Begin to pair a phone with your page: it signs in as you. Needs an https `[server] public_url`.',
  },
  { status: 201, description: 'The address to scan within 60 seconds.', schema: Pairing },
  { 403: 'The page signed in more than 10 minutes ago, or by pairing.', 409: 'The page has no https address.' },
);
const look = describe(
  { method: 'get', path: '/{id}', summary: 'Whether the code was scanned, and by which browser.', request: { params } },
  { status: 200, description: 'The state.', schema: PairingState },
  NONE,
);
const confirm = describe(
  {
    method: 'post',
    path: '/{id}/confirm',
    summary: 'Confirm that the phone shows the same number.',
    request: { params },
  },
  { status: 200, description: 'Confirmed.', schema: z.strictObject({ status: z.literal('confirmed') }) },
  NONE,
);
const cancel = describe(
  { method: 'delete', path: '/{id}', summary: 'Refuse the phone.', request: { params } },
  { status: 200, description: 'Refused.', schema: z.strictObject({ status: z.literal('cancelled') }) },
  NONE,
);
const claim = describe(
  {
    method: 'post',
    path: '/claim',
    summary: 'Exchange a scanned code for a claim. Does not need a token.',
    request: { body: body(z.strictObject({ code: z.string().max(100), label: line(200).default('') })) },
  },
  { status: 201, description: 'Show the number, and redeem the claim until it is confirmed.', schema: Claim },
);
const redeem = describe(
  {
    method: 'post',
    path: '/redeem',
    summary: 'Exchange a confirmed claim for a token of the page. Does not need a token.',
    request: { body: body(z.strictObject({ claim: z.string().max(100) })) },
  },
  { status: 200, description: 'The token, once; null while the claim waits to be confirmed.', schema: Redeemed },
);

const OLD = 'This code was used, refused or is older than 60 seconds. Show a new one.';

/** Pairing a phone by a QR code that is confirmed on the first screen. */
export function pairingRoutes(
  api: Api,
  { pairings, address }: { readonly pairings: Pairings; readonly address: () => string | null },
): Router {
  const routes = createRouter();
  const none = (): SubstratError => new SubstratError('not_found', OLD);
  routes.openapi(start, async (c) => {
    const base = address();
    if (base === null || !base.startsWith('https://')) {
      throw new SubstratError('conflict', 'A phone can be paired only if `[server] public_url` is an https address.');
    }
    freshPageOnly(c.get('caller'), api.clock());
    const { handle, token } = c.get('caller');
    const { id, code, until } = pairings.start(handle, token);
    return c.json({ id, url: `${base.replace(/\/$/, '')}/#pair=${code}`, expiresAt: showTime(until) }, 201);
  });
  routes.openapi(claim, async (c) => {
    const { code, label } = c.req.valid('json');
    const found = pairings.claim(code, label);
    if (!found) throw new SubstratError('unauthorized', OLD);
    return c.json({ claim: found.claim, check: found.check, expiresAt: showTime(found.until) }, 201);
  });
  routes.openapi(redeem, async (c) => {
    const found = pairings.redeem(c.req.valid('json').claim);
    if (found === null) throw new SubstratError('unauthorized', OLD);
    if (found === 'waiting') return c.json({ status: 'waiting' as const, token: null }, 200);
    const token = await createPageToken(api, { ...found, kind: 'phone' });
    if (token === null) throw new SubstratError('unauthorized', OLD);
    return c.json({ status: 'confirmed' as const, token }, 200);
  });
  routes.openapi(look, async (c) => {
    const found = pairings.look(c.req.valid('param').id, c.get('caller').handle);
    if (!found) throw none();
    const seen = found.state === 'claimed' ? found : { label: null, check: null };
    return c.json({ state: found.state, label: seen.label, check: seen.check }, 200);
  });
  routes.openapi(confirm, async (c) => {
    if (!pairings.confirm(c.req.valid('param').id, c.get('caller').handle)) throw none();
    return c.json({ status: 'confirmed' as const }, 200);
  });
  routes.openapi(cancel, async (c) => {
    if (!pairings.cancel(c.req.valid('param').id, c.get('caller').handle)) throw none();
    return c.json({ status: 'cancelled' as const }, 200);
  });
  return routes;
}
