import { keyOf } from '../core/agent.ts';
import { amountText, type BudgetWish } from '../core/budget.ts';
import { SubstratError } from '../core/errors.ts';
import type { ApplyItem } from '../http/api.ts';
import type { Tx } from '../store/store.ts';
import type { ApplyMode, Members } from './members.ts';
import type { Node, Stored } from './node.ts';
import type { Teamwork } from './teamwork.ts';

export interface BudgetMaking extends Pick<Node, 'store' | 'config'> {
  readonly setBudget: Teamwork['setBudget'];
}

type Wanted = BudgetWish & { readonly name: string; readonly kind: ApplyItem['kind'] };

/**
 * Sets the budgets of members and people. The one of a member holds for all below it, too. A limit that a person set by
 * hand stays, unless the file wins; one that is no longer in the file stays, too.
 */
export async function reconcileBudgets(
  { store, config, setBudget }: BudgetMaking,
  { ids }: Pick<Members, 'ids'>,
  stored: Stored,
  mode: ApplyMode,
): Promise<ApplyItem[]> {
  const items: ApplyItem[] = [];
  const wanted: Wanted[] = [];
  for (const { name, budget } of config.members) {
    const subjectId = ids.get(keyOf(name));
    for (const limit of subjectId === undefined ? [] : (budget ?? [])) {
      wanted.push({
        ...limit,
        scope: 'subtree',
        subjectId: subjectId as string,
        origin: 'config',
        name,
        kind: 'member',
      });
    }
  }
  for (const [name, { budget }] of Object.entries(config.people)) {
    const person = await store.read((tx) => tx.participants.getParticipant({ handleKey: keyOf(name) }));
    for (const limit of person?.kind === 'person' ? (budget ?? []) : []) {
      wanted.push({ ...limit, scope: 'person', subjectId: person?.id ?? '', origin: 'config', name, kind: 'person' });
    }
  }
  for (const { name, kind, ...wish } of wanted) {
    const apply = async (tx: Tx): Promise<ApplyItem | null> => {
      const before = await tx.budgets.findBudget(wish);
      if (before?.amount === wish.amount) return null;
      const field = `budget (${wish.unit}, ${wish.period})`;
      const [from, to] = [before && amountText(wish.unit, before.amount), amountText(wish.unit, wish.amount)];
      const item = { kind, name, field, from, to, note: null };
      if (before?.origin === 'person' && !mode.force) {
        const note = 'set by hand; `substrat apply --force` takes the value of the file';
        return { ...item, action: 'conflict', note };
      }
      if (!mode.dryRun && (mode.changes || !before)) await setBudget(tx, wish);
      return { ...item, action: 'change' };
    };
    const item = await stored(() => store.write(apply)).catch((error: unknown): ApplyItem => {
      if (!(error instanceof SubstratError) || error.code === 'store') throw error;
      return { kind, name, action: 'left', field: 'budget', from: null, to: null, note: error.message };
    });
    if (item) items.push(item);
  }
  return items;
}
