import { useState } from 'preact/hooks';
import type { Budget, BudgetSetting } from '../../../../src/client/browser.ts';
import { Field, FormDialog, type Given, Select } from '../../parts/form-dialog.tsx';
import { showClock } from '../../parts/time.ts';
import { agentById, agentOrder } from '../../state/agents.ts';
import { peopleKnown } from '../../state/people.ts';
import { api } from '../../state/session.ts';
import { PERIODS, UNITS, whoseBudget } from './budget-words.ts';

interface Props {
  /** What is changed; null for a new one. */
  readonly budget: Budget | null;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Sets a limit, changes its amount, or removes it. */
export function SetBudget({ budget, onDone, onClose }: Props) {
  const set = async (given: Given): Promise<void> => {
    await api.setBudget(budget ? { ...keyOf(budget), amount: amountIn(given, budget.unit) } : settingIn(given));
    onDone();
  };
  if (budget?.period === 'first_day') return <RemoveFirstDay budget={budget} onDone={onDone} onClose={onClose} />;
  const title = budget ? `Limit of ${whoseBudget(budget)}` : 'Set a budget';
  return (
    <FormDialog
      title={title}
      submit={budget ? 'Save' : 'Set'}
      onSubmit={set}
      onClose={onClose}
      also={budget && <Remove budget={budget} onDone={onDone} onClose={onClose} />}
    >
      {budget ? <Amount unit={budget.unit} period={budget.period} value={budget.amount} /> : <NewLimit />}
      <p class="small muted">
        At 80 % you are warned. At 100 % turns wait with their work, and you are asked how to continue.
      </p>
    </FormDialog>
  );
}

/** The default for a first day cannot be changed, only removed. */
function RemoveFirstDay({ budget, onDone, onClose }: Props & { readonly budget: Budget }) {
  const remove = async (): Promise<void> => {
    await api.removeBudget(budget.id);
    onDone();
  };
  return (
    <FormDialog
      title={`First day of ${whoseBudget(budget)}`}
      submit="Remove the limit"
      onSubmit={remove}
      onClose={onClose}
    >
      <p>
        Every new team has this limit for its first day
        {budget.expiresAt && `, until ${showClock(budget.expiresAt)}`}. Without it, only the limits that you set apply.
      </p>
    </FormDialog>
  );
}

function NewLimit() {
  const [scope, setScope] = useState<BudgetSetting['scope']>('subtree');
  const [unit, setUnit] = useState<Budget['unit']>('tokens');
  const handles =
    scope === 'person' ? peopleKnown.value : agentOrder.value.flatMap(({ id }) => agentById(id)?.handle ?? []);
  return (
    <>
      <Select
        name="scope"
        label="Limit"
        options={[
          ['subtree', 'an agent and all below it'],
          ['agent', 'one agent'],
          ['person', 'what the messages of a person start'],
        ]}
        onChange={(value) => setScope(value as BudgetSetting['scope'])}
      />
      <Select
        name="of"
        label={scope === 'person' ? 'Person' : 'Agent'}
        options={handles.map((handle) => [handle, handle === 'user' ? 'user (you)' : handle])}
      />
      <Select
        name="unit"
        label="Unit"
        options={Object.entries(UNITS)}
        onChange={(value) => setUnit(value as Budget['unit'])}
      />
      <Field name="amount" label={`Amount, in ${UNITS[unit]}`} required inputMode="decimal" />
      <Select
        name="period"
        label="Period"
        options={[
          ['day', 'a day (UTC)'],
          ['total', 'in total'],
        ]}
      />
    </>
  );
}

function Amount(props: { readonly unit: Budget['unit']; readonly period: Budget['period']; readonly value: number }) {
  const value = props.unit === 'seconds' ? props.value / 60 : props.value;
  return (
    <Field
      name="amount"
      label={`Amount, in ${UNITS[props.unit]} ${PERIODS[props.period]}`}
      required
      inputMode="decimal"
      value={String(value)}
    />
  );
}

function Remove({ budget, onDone, onClose }: Props & { readonly budget: Budget }) {
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async (): Promise<void> => {
    await api.removeBudget(budget.id);
    onDone();
    onClose();
  };
  return (
    <>
      <button
        type="button"
        class="btn danger"
        onClick={() => void remove().catch((error: Error) => setProblem(error.message))}
      >
        Remove the limit
      </button>
      {problem && (
        <span class="bad small" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

function keyOf({ of, scope, unit, period }: Budget): Omit<BudgetSetting, 'amount'> {
  return { of, scope, unit, period: period === 'total' ? 'total' : 'day' };
}

function settingIn(given: Given): BudgetSetting {
  const unit = given.text('unit') as Budget['unit'];
  return {
    of: given.text('of'),
    scope: given.text('scope') as BudgetSetting['scope'],
    unit,
    period: given.text('period') as BudgetSetting['period'],
    amount: amountIn(given, unit),
  };
}

function amountIn(given: Given, unit: Budget['unit']): number {
  // "2 000 000", "2,000,000" and "2_000_000" are the same number; a comma before one or two digits is ambiguous.
  const text = given.text('amount').replace(/[\s_]|,(?=\d{3}(\D|$))/g, '');
  const amount = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(amount)) throw new Error(`"${given.text('amount')}" is not a number.`);
  return unit === 'seconds' ? amount * 60 : amount;
}
