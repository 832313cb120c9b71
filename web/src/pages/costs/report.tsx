import { useState } from 'preact/hooks';
import type { Report as Receipt } from '../../../../src/client/browser.ts';
import { Fig } from '../../parts/fig.tsx';
import { Loading } from '../../parts/loading.tsx';
import { plural, showCost, showCount } from '../../parts/numbers.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showWait } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { shown } from '../../text/shown.ts';
import { AgentTable } from './agent-table.tsx';
import { PERIODS, showAmount, whoseBudget } from './budget-words.ts';

const HOUR_MS = 3_600_000;
const SPANS = [
  [8, '8 hours'],
  [24, 'a day'],
  [168, 'a week'],
] as const;

/** The receipt: what ran, what was asked and answered, what it cost, and what waits. */
export function Report() {
  const [hours, setHours] = useState<number>(SPANS[0][0]);
  const report = useLoad(
    `report ${hours}`,
    () => api.getReport({ since: new Date(Date.now() - hours * HOUR_MS).toISOString() }),
    ({ type }) => type === 'run_ended' || type.startsWith('question_'),
  );
  return (
    <section class="part">
      <div class="part-head">
        <h2>Report</h2>
        <span class="grow" />
        <div class="tabs">
          {SPANS.map(([of, name]) => (
            <button key={of} type="button" aria-pressed={hours === of} onClick={() => setHours(of)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      <Loading of={report}>{(value) => <Told report={value} />}</Loading>
    </section>
  );
}

function Told({ report }: { readonly report: Receipt }) {
  const { since, total, agents, budgets, evidence, failures, questions, waiting } = report;
  const answered = questions.filter(({ settledAt }) => settledAt !== null);
  return (
    <>
      <dl class="figs">
        <Fig name="Since" value={showClock(since)} />
        <Fig name="Runs" value={String(total.runs)} more={outcomes(total)} />
        <Fig name="Tokens" value={`${showCount(total.inputTokens)} in`} more={`${showCount(total.outputTokens)} out`} />
        <Fig name="Cost" value={showCost(total.costUsd)} />
        <Fig name="Asked" value={String(questions.length)} more={`${answered.length} settled`} />
      </dl>
      <Waiting waiting={waiting} />
      {budgets.length > 0 && (
        <>
          <h3>Budgets</h3>
          <ul class="lines">
            {budgets.map((budget) => (
              <li key={budget.id}>
                <StateMark mark={budget.waiting > 0 ? 'need' : 'done'} />
                <a href={href('costs')}>{whoseBudget(budget)}</a>
                <span class="cut grow muted">
                  {showAmount(budget.unit, budget.used)} of {showAmount(budget.unit, budget.limit)}{' '}
                  {PERIODS[budget.period]}
                </span>
                {budget.waiting > 0 && (
                  <span class="nowrap">{plural(budget.waiting, 'turn waits', 'turns wait')} for it</span>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {evidence.length > 0 && (
        <>
          <h3>What is proven or claimed</h3>
          <ul class="lines">
            {evidence.map((one) => (
              <li key={`${one.messageId} ${one.kind} ${one.subject}`}>
                <StateMark mark={one.state === 'proven' ? 'done' : one.state === 'refuted' ? 'fail' : 'wait'} />
                <b>{one.agent}</b>
                <span class="cut grow muted">
                  {one.kind} {shown(one.subject)}
                  {one.detail && `: ${shown(one.detail)}`}
                </span>
                <span class="nowrap">{one.state}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {failures.length > 0 && (
        <>
          <h3>What failed</h3>
          <ul class="lines">
            {failures.map(({ run, agent, error, at }) => (
              <li key={run}>
                <StateMark mark="fail" />
                <a href={href('runs', run)}>{agent}</a>
                <span class="cut grow muted">{shown(error ?? 'No reason was recorded.')}</span>
                <span class="faint nowrap">{showClock(at)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {answered.length > 0 && (
        <>
          <h3>What was decided</h3>
          <ul class="lines">
            {answered.map(({ id, agent, subject, outcome, settledAt }) => (
              <li key={id}>
                <StateMark mark="done" />
                <b>{agent}</b>
                <span class="cut grow muted">{shown(subject)}</span>
                <span class="nowrap">{outcome}</span>
                <span class="faint nowrap">{settledAt && showClock(settledAt)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>What ran</h3>
      {agents.length === 0 ? <p class="muted">Nothing ran.</p> : <AgentTable rows={agents} />}
    </>
  );
}

function Waiting({ waiting }: { readonly waiting: Receipt['waiting'] }) {
  const rows = [
    ...waiting.questions.map(({ id, agent, subject, createdAt }) => ({
      id,
      at: createdAt,
      who: agent,
      what: subject,
      to: href('needs-me', id),
    })),
    ...waiting.requests.map(({ messageId, from, createdAt }) => ({
      id: messageId,
      at: createdAt,
      who: from,
      what: 'expects a reply',
      to: href('needs-me', messageId),
    })),
    ...waiting.turns.map(({ agent, state, reason }) => ({
      id: `turn-${agent}`,
      at: null,
      who: agent,
      what: `${state}${reason ? `: ${reason}` : ''}`,
      to: href('team', agent),
    })),
    ...waiting.paused.map(({ agent, reason, at }) => ({
      id: `paused-${agent}`,
      at,
      who: agent,
      what: `paused${reason ? `: ${reason}` : ''}`,
      to: href('team', agent),
    })),
  ];
  return (
    <>
      <h3>What waits for you</h3>
      {rows.length === 0 ? (
        <p class="muted">Nothing.</p>
      ) : (
        <ul class="lines">
          {rows.map(({ id, at, who, what, to }) => (
            <li key={id}>
              <StateMark mark="need" />
              <a href={to}>{who}</a>
              <span class="cut grow muted">{shown(what)}</span>
              <span class="faint nowrap">{at && showWait(now.value - Date.parse(at))}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function outcomes({ completed, failed, cancelled }: Receipt['total']): string {
  return [
    `${completed} completed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(cancelled > 0 ? [plural(cancelled, 'cancelled', 'cancelled')] : []),
  ].join(', ');
}
