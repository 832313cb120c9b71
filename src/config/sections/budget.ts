import * as z from 'zod';
import type { BudgetPeriod, BudgetUnit } from '../../core/budget.ts';

const amount = z.number().min(0, 'must not be negative').optional();

/** One limit of a budget in the configuration. */
export interface ConfiguredLimit {
  readonly unit: BudgetUnit;
  readonly period: BudgetPeriod;
  readonly amount: number;
}

/** Limits per day or in total: `tokens_per_day`, `usd`, and so on. */
export const budget: z.ZodType<readonly ConfiguredLimit[]> = z
  .strictObject({
    tokens: amount,
    usd: amount,
    runs: amount,
    minutes: amount,
    tokens_per_day: amount,
    usd_per_day: amount,
    runs_per_day: amount,
    minutes_per_day: amount,
  })
  .transform((limits) =>
    Object.entries(limits).flatMap(([key, given]): ConfiguredLimit[] => {
      if (given === undefined) return [];
      const period = key.endsWith('_per_day') ? 'day' : 'total';
      const name = key.replace('_per_day', '');
      if (name === 'minutes') return [{ unit: 'seconds', period, amount: given * 60 }];
      return [{ unit: name as BudgetUnit, period, amount: given }];
    }),
  );
