import { randomBytes, randomUUID } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { checkName, keyOf, USER_ID } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { shorten } from '../../core/text.ts';
import type { Tx } from '../../store/store.ts';
import { hashToken, notFromPage, ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { fullId } from '../full-id.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { label, line, pageOf, Token } from '../schemas.ts';
import { showTime } from '../shown.ts';

const TokenCreation = z
  .strictObject({ as: label.openapi({ example: 'anna' }), label: line(200).default('') })
  .openapi('TokenCreation');
// Not `Token.extend`: the document would describe both as closed, and nothing satisfies both.
const NewToken = z
  .strictObject({ ...Token.shape, token: z.string().openapi({ description: 'Shown once; only its hash is stored.' }) })
  .openapi('NewToken');
const Revoked = z.strictObject({ status: z.literal('revoked'), id: z.string() }).openapi('Revoked');

const list = describe(
  { method: 'get', path: '/', summary: 'List the tokens of other people and programs.' },
  { status: 200, description: 'All of them, without their secrets.', schema: pageOf(Token) },
);
const create = describe(
  {
    method: 'post',
    path: '/',
    summary: 'Create a token for a person. The person is created if needed.',
    request: { body: { required: true, content: { 'application/json': { schema: TokenCreation } } } },
  },
  { status: 201, description: 'The token.', schema: NewToken },
  { 409: 'An agent has that handle.' },
);
const revoke = describe(
  {
    method: 'delete',
    path: '/{id}',
    summary: 'Revoke a token.',
    request: { params: z.strictObject({ id: z.string() }) },
  },
  { status: 200, description: 'Revoked.', schema: Revoked },
  { 404: 'There is no such token, or it is revoked already.' },
);

export function tokenRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const rows = await api.store.read((tx) => tx.tokens.listTokens());
    const items = rows.map((row) => ({
      id: row.id,
      as: row.handle,
      label: row.label,
      kind: row.kind,
      createdAt: showTime(row.createdAt),
      expiresAt: row.expiresAt === null ? null : showTime(row.expiresAt),
      revokedAt: row.revokedAt === null ? null : showTime(row.revokedAt),
    }));
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(create, async (c) => {
    ownerOnly(c.get('caller'));
    notFromPage(c.get('caller'));
    const wish = c.req.valid('json');
    const token = randomBytes(32).toString('base64url');
    const id = randomUUID();
    const at = api.clock();
    const handle = await api.store.write(async (tx) => {
      const person = await personNamed(tx, wish.as, at);
      await tx.tokens.insertToken({
        id,
        hash: hashToken(token),
        participantId: person.id,
        label: wish.label,
        kind: 'api',
        createdAt: at,
        expiresAt: null,
      });
      return person.handle;
    });
    const made = { id, as: handle, label: wish.label, kind: 'api' as const, createdAt: showTime(at) };
    return c.json({ ...made, expiresAt: null, revokedAt: null, token }, 201);
  });
  routes.openapi(revoke, async (c) => {
    ownerOnly(c.get('caller'));
    const id = await api.store.read((tx) => fullId(tx, 'tokens', c.req.valid('param').id));
    const revoked = await api.store.write((tx) => tx.tokens.tryRevokeToken({ id, at: api.clock() }));
    if (!revoked) throw new SubstratError('not_found', `There is no active token ${shorten(id)}.`);
    return c.json({ status: 'revoked' as const, id }, 200);
  });
  return routes;
}

export async function personNamed(tx: Tx, name: string, at: number): Promise<{ id: string; handle: string }> {
  const existing = await tx.participants.getParticipant({ handleKey: keyOf(name) });
  if (existing?.kind === 'person') return existing;
  if (existing?.kind === 'agent') {
    throw new SubstratError(
      'conflict',
      `"${name}" is an agent. Agents connect through their own sockets; tokens are for people.`,
    );
  }
  if (keyOf(name) !== USER_ID) checkName(name);
  const id = randomUUID();
  await tx.participants.insertPerson({ id, handle: name, handleKey: keyOf(name), at });
  return { id, handle: name };
}
