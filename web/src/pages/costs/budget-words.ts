import type { Budget } from '../../../../src/client/browser.ts';
import { plural, showCost, showCount } from '../../parts/numbers.ts';
import { showWait } from '../../parts/time.ts';

/** What one types an amount in. */
export const UNITS: Readonly<Record<Budget['unit'], string>> = {
  tokens: 'tokens',
  usd: 'US dollars',
  runs: 'turns',
  seconds: 'minutes of turns',
};
export const PERIODS = { day: 'a day', total: 'in total', first_day: 'on its first day' } as const;
export const WHOSE = { agent: '', subtree: ' and all below it', person: ', by their messages' } as const;

export function whoseBudget({ of, scope }: Pick<Budget, 'of' | 'scope'>): string {
  return `${of}${WHOSE[scope]}`;
}

export function showAmount(unit: Budget['unit'], amount: number): string {
  if (unit === 'usd') return showCost(amount);
  if (unit === 'seconds') return showWait(amount * 1000);
  return unit === 'tokens' ? `${showCount(amount)} tokens` : plural(amount, 'run');
}
