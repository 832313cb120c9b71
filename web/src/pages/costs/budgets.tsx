import { useState } from 'preact/hooks';
import type { Budget } from '../../../../src/client/browser.ts';
import { Loading } from '../../parts/loading.tsx';
import { Meter } from '../../parts/meter.tsx';
import { plural } from '../../parts/numbers.ts';
import { showClock, showWait } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { PERIODS, showAmount, UNITS, WHOSE, whoseBudget } from './budget-words.ts';
import { SetBudget } from './set-budget.tsx';

/** The daemon warns from here on. */
const WARN_AT = 0.8;

/** What is used of each limit, and what happens at its end. */
export function Budgets() {
  const budgets = useLoad(
    'budgets',
    () => api.listBudgets(),
    ({ type }) => type === 'run_ended' || type === 'run_started' || type.startsWith('question_'),
  );
  const [asks, setAsks] = useState<Budget | 'new' | null>(null);
  return (
    <section class="part">
      <div class="part-head">
        <h2>Budgets</h2>
        <span class="grow" />
        <button type="button" class="btn sm" onClick={() => setAsks('new')}>
          Set a budget
        </button>
      </div>
      {asks !== null && (
        <SetBudget budget={asks === 'new' ? null : asks} onDone={budgets.reload} onClose={() => setAsks(null)} />
      )}
      <Loading of={budgets}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="muted">No limits are set: turns use what they need.</p>
          ) : (
            <ul class="budgets">
              {items
                .toSorted((a, b) => partOf(b) - partOf(a))
                .map((budget) => (
                  <Row key={budget.id} budget={budget} onChange={() => setAsks(budget)} />
                ))}
            </ul>
          )
        }
      </Loading>
    </section>
  );
}

function Row({ budget, onChange }: { readonly budget: Budget; readonly onChange: () => void }) {
  const { of, scope, unit, period, used, reserved, limit, waiting, questionId } = budget;
  const part = partOf(budget);
  const kind = part >= 1 ? 'bad' : part >= WARN_AT ? 'warn' : 'run';
  return (
    <li>
      <div class="budget-name">
        {scope === 'person' ? <b>{of}</b> : <a href={href('team', of)}>{of}</a>}
        <span class="muted">{WHOSE[scope]}</span>
        <span class="grow" />
        <span class={part >= 1 ? 'bad' : undefined}>
          {showAmount(unit, used)} of {showAmount(unit, limit)} {PERIODS[period]}, {Math.round(part * 100)} %
        </span>
      </div>
      <Meter
        parts={[
          { of: used, kind },
          { of: reserved, kind: 'off' },
        ]}
        whole={limit}
      />
      <p class="hint">
        {reserved > 0 && `${showAmount(unit, reserved)} reserved by turns in progress. `}
        {waiting > 0
          ? `${plural(waiting, 'turn waits', 'turns wait')} for it. `
          : 'At 100 % turns wait, and you are asked. '}
        {budget.renewsAt && `Begins again at ${showClock(budget.renewsAt)}. `}
        {budget.expiresAt &&
          `Ends ${showClock(budget.expiresAt)}, in ${showWait(Date.parse(budget.expiresAt) - Date.now())}. `}
        {questionId && part >= 1 && <a href={href('needs-me', questionId)}>Decide</a>}{' '}
        <button
          type="button"
          class="link"
          onClick={onChange}
          aria-label={`Change the limit of ${whoseBudget(budget)}, ${UNITS[unit]} ${PERIODS[period]}`}
        >
          Change
        </button>
      </p>
    </li>
  );
}

function partOf({ used, limit }: Budget): number {
  return limit === 0 ? 1 : used / limit;
}
