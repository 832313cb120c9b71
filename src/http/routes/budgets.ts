import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { Budget, BudgetRemoved, BudgetSetting, showBudget } from '../budget.ts';
import { fullId } from '../full-id.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { pageOf } from '../schemas.ts';
import { visibleAgent } from '../visible-agent.ts';

const list = describe(
  { method: 'get', path: '/', summary: 'List budgets with what is used, reserved and left of each.' },
  { status: 200, description: 'All of them.', schema: pageOf(Budget) },
);
const set = describe(
  {
    method: 'put',
    path: '/',
    summary: 'Set a limit, or change it. What waits for it looks again.',
    request: { body: { required: true, content: { 'application/json': { schema: BudgetSetting } } } },
  },
  { status: 200, description: 'The budget.', schema: Budget },
  { 404: 'There is no such agent or person.' },
);
const remove = describe(
  {
    method: 'delete',
    path: '/{id}',
    summary: 'Remove a budget. What waited for it continues.',
    request: { params: z.strictObject({ id: z.string() }) },
  },
  { status: 200, description: 'Removed.', schema: BudgetRemoved },
  { 404: 'There is no such budget.' },
);

export function budgetRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const items = await api.store.read((tx) => api.budgets.list(tx));
    return c.json({ items: items.map(showBudget), nextCursor: null }, 200);
  });
  routes.openapi(set, async (c) => {
    const caller = c.get('caller');
    ownerOnly(caller);
    const { of, ...wish } = c.req.valid('json');
    const view = await api.store.write(async (tx) => {
      const isPerson = wish.scope === 'person';
      const subject = isPerson
        ? await tx.participants.getParticipant({ handleKey: of.toLowerCase() })
        : await visibleAgent(tx, caller, of);
      if (!subject || (isPerson && 'kind' in subject && subject.kind !== 'person')) {
        throw new SubstratError('not_found', `There is no person "${of.slice(0, 80)}".`);
      }
      return api.budgets.set(tx, { ...wish, subjectId: subject.id, origin: 'person' });
    });
    return c.json(showBudget(view), 200);
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const id = await api.store.read((tx) => fullId(tx, 'budgets', c.req.valid('param').id));
    await api.store.write((tx) => api.budgets.remove(tx, id));
    return c.json({ status: 'removed' as const, id }, 200);
  });
  return routes;
}
