import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { SubstratError } from '../../core/errors.ts';
import { type Decision, decide, mayAnswer } from '../../messaging/questions.ts';
import type { QuestionView, Tx } from '../../store/store.ts';
import type { Caller, Env } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { fullMessageId } from '../full-id.ts';
import { keyParameter, once } from '../once.ts';
import { readPage } from '../page.ts';
import { Question, QuestionAnswer, QuestionApproval, QuestionRejection, showQuestion } from '../question.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { pageOf, pageQuery } from '../schemas.ts';

const params = z.strictObject({ id: z.string() });
const body = <S extends z.ZodType>(schema: S) => ({ content: { 'application/json': { schema } }, required: true });
const MISSING = { 404: 'There is no such question that you may answer.' };
const CLOSED = { ...MISSING, 409: 'It has an outcome already; nothing was changed.' };
const SETTLED = { status: 200, description: 'The question with its outcome.', schema: Question } as const;

const list = describe(
  {
    method: 'get',
    path: '/',
    summary: 'List the questions and approvals that you may answer, newest first.',
    request: { query: pageQuery({ open: z.enum(['true', 'false']).default('true') }) },
  },
  { status: 200, description: 'A page of questions.', schema: pageOf(Question) },
);
const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get a question.', request: { params } },
  { status: 200, description: 'The question.', schema: Question },
  MISSING,
);
const answer = describe(
  {
    method: 'post',
    path: '/{id}/answer',
    summary: 'Answer a question.',
    parameters: [keyParameter],
    request: { params, body: body(QuestionAnswer) },
  },
  SETTLED,
  CLOSED,
);
const approve = describe(
  {
    method: 'post',
    path: '/{id}/approve',
    summary: 'Permit one call with exactly the arguments that were asked for, or with others.',
    parameters: [keyParameter],
    request: { params, body: body(QuestionApproval) },
  },
  SETTLED,
  CLOSED,
);
const reject = describe(
  {
    method: 'post',
    path: '/{id}/reject',
    summary: 'Refuse a call.',
    parameters: [keyParameter],
    request: { params, body: body(QuestionRejection) },
  },
  SETTLED,
  CLOSED,
);

export function questionRoutes(api: Api): Router {
  const routes = createRouter();
  const shown = (view: QuestionView) => showQuestion(view, { sandboxed: api.workspaces.inForce });
  const settle = async (c: Context<Env, string>, wish: unknown, decision: Decision) => {
    const caller = c.get('caller');
    const id = await api.store.read((tx) => fullMessageId(tx, caller.id, c.req.param('id') ?? ''));
    const { value } = await once(api, c, wish, async (tx) => {
      await decide(tx, api.rules, { ...caller, token: caller.signedIn?.id ?? null }, id, decision, api.clock());
      if (decision.kind === 'answer') await api.budgets.answer(tx, id, decision.text);
      return shown(await visible(tx, caller, id));
    });
    return value;
  };
  routes.openapi(list, async (c) => {
    const { open, cursor, limit } = c.req.valid('query');
    const caller = c.get('caller');
    const start = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
    const participantId = caller.owner ? null : caller.id;
    const { rows, more } = await api.store.read((tx) =>
      readPage(
        { limit, start },
        (before, count) => tx.questions.listQuestions({ participantId, open: open === 'true', before, limit: count }),
        {
          placeOf: ({ seq }) => seq,
          sizeOf: ({ subject, details, args }) => subject.length + (details?.length ?? 0) + JSON.stringify(args).length,
        },
      ),
    );
    return c.json({ items: rows.map(shown), nextCursor: more ? writeCursor(rows.at(-1)?.seq ?? 0) : null }, 200);
  });
  routes.openapi(get, async (c) => {
    const view = await api.store.read((tx) => visible(tx, c.get('caller'), c.req.valid('param').id));
    return c.json(shown(view), 200);
  });
  routes.openapi(answer, async (c) => {
    const wish = c.req.valid('json');
    return c.json(await settle(c, wish, { kind: 'answer', text: wish.text }), 200);
  });
  routes.openapi(approve, async (c) => {
    const wish = c.req.valid('json');
    const { tool, agentId } = await api.store.read((tx) => visible(tx, c.get('caller'), c.req.valid('param').id));
    const revised =
      wish.arguments === undefined || tool === null ? null : await api.readArguments(agentId, tool, wish.arguments);
    return c.json(await settle(c, wish, { kind: 'approve', text: wish.text ?? null, revised }), 200);
  });
  routes.openapi(reject, async (c) => {
    const wish = c.req.valid('json');
    return c.json(await settle(c, wish, { kind: 'reject', text: wish.text ?? null }), 200);
  });
  return routes;
}

/** Questions that the caller may not answer do not exist for it. */
async function visible(tx: Tx, caller: Caller, given: string): Promise<QuestionView> {
  const id = await fullMessageId(tx, caller.id, given);
  const view = await tx.questions.getQuestionView({ id });
  if (view && mayAnswer(view, caller.id)) return view;
  throw new SubstratError('not_found', `There is no question ${id.slice(0, 80)}.`);
}
