import { z } from '@hono/zod-openapi';
import { BUDGET_ORIGINS, BUDGET_PERIODS, BUDGET_SCOPES, BUDGET_UNITS, type BudgetView } from '../core/budget.ts';
import { showTime } from './shown.ts';

const time = z.string().openapi({ format: 'date-time' });
const number = z.number();

export const Budget = z
  .strictObject({
    id: z.string(),
    scope: z.enum(BUDGET_SCOPES).openapi({ description: 'subtree: the agent and all below it.' }),
    of: z.string().openapi({ description: 'Handle of the agent or person.' }),
    unit: z.enum(BUDGET_UNITS),
    period: z.enum(BUDGET_PERIODS).openapi({ description: 'A day is a day of `timeZone`.' }),
    timeZone: z.string(),
    amount: number,
    limit: number.openapi({ description: 'With what you added in this period.' }),
    used: number,
    reserved: number.openapi({ description: 'By turns in progress.' }),
    left: number,
    waiting: number.openapi({ description: 'Runs that wait for it.' }),
    origin: z.enum(BUDGET_ORIGINS),
    questionId: z
      .string()
      .nullable()
      .openapi({ description: 'The question that you are asked because it is used up.' }),
    renewsAt: time.nullable().openapi({ description: 'When a new day begins; null if it is not per day.' }),
    expiresAt: time.nullable(),
    createdAt: time,
  })
  .openapi('Budget');
export const BudgetSetting = z
  .strictObject({
    scope: z.enum(BUDGET_SCOPES).default('subtree'),
    of: z.string().min(1).max(200).openapi({ description: 'The agent, or the handle of the person.' }),
    unit: z.enum(BUDGET_UNITS),
    period: z.enum(['day', 'total']).default('day'),
    amount: number.min(0).max(1e15),
  })
  .openapi('BudgetSetting');
export const BudgetRemoved = z.strictObject({ status: z.literal('removed'), id: z.string() }).openapi('BudgetRemoved');

export function showBudget(view: BudgetView) {
  const {
    id,
    scope,
    handle: of,
    unit,
    period,
    timeZone,
    amount,
    limit,
    used,
    reserved,
    left,
    waiting,
    origin,
    questionId,
  } = view;
  const times = {
    renewsAt: view.renewsAt === null ? null : showTime(view.renewsAt),
    expiresAt: view.expiresAt === null ? null : showTime(view.expiresAt),
    createdAt: showTime(view.createdAt),
  };
  return {
    id,
    scope,
    of,
    unit,
    period,
    timeZone,
    amount,
    limit,
    used,
    reserved,
    left,
    waiting,
    origin,
    questionId,
    ...times,
  };
}
