import { Loading } from '../../parts/loading.tsx';
import { plural, showCost, showCount } from '../../parts/numbers.ts';
import { PageBar } from '../../parts/page-bar.tsx';
import { showDate } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { href, route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { AgentTable } from './agent-table.tsx';
import { Bars } from './bars.tsx';
import { Budgets } from './budgets.tsx';
import { Doctor } from './doctor.tsx';
import { Health } from './health.tsx';
import { LastDay } from './last-day.tsx';
import { Log } from './log.tsx';
import { Report } from './report.tsx';

const DAYS = 30;
const DAY_MS = 86_400_000;

const TABS = [
  ['', 'Costs'],
  ['report', 'Report'],
  ['health', 'Health'],
  ['log', 'Log'],
] as const;

/** What was spent, what happened, and whether the daemon is well. */
export function Costs() {
  const at = route.value[1] ?? '';
  return (
    <>
      <PageBar title="Costs and health" />
      <nav class="tabs under-bar" aria-label="Parts of this page">
        {TABS.map(([part, name]) => (
          <a
            key={part}
            href={part === '' ? href('costs') : href('costs', part)}
            aria-current={at === part ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <div class="scroll" key={at} tabIndex={0} role="region" aria-label="Costs and health">
        {at === 'report' && <Report />}
        {at === 'health' && (
          <>
            <Health />
            <Doctor />
          </>
        )}
        {at === 'log' && <Log />}
        {!['report', 'health', 'log'].includes(at) && <Spent />}
      </div>
    </>
  );
}

/** Day by day, by budget and by agent. */
function Spent() {
  const usage = useLoad(
    'usage',
    async () => {
      const since = new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
      const [byDay, byAgent] = await Promise.all([
        api.listUsage({ by: 'day', since }),
        api.listUsage({ by: 'agent', since }),
      ]);
      return { days: fillDays(byDay.items), agents: byAgent.items };
    },
    ({ type }) => type === 'run_ended',
  );
  return (
    <>
      <Loading of={usage}>
        {({ days, agents }) => (
          <>
            <div class="plots">
              <Bars title={`Cost, last ${DAYS} days`} days={days} value={({ costUsd }) => costUsd} show={showCost} />
              <Bars title="Tokens" days={days} value={(day) => day.inputTokens + day.outputTokens} show={showCount} />
              <Bars title="Runs" days={days} value={({ runs }) => runs} show={(n) => plural(n, 'run')} />
            </div>
            <Budgets />
            <section class="part">
              <h2>By agent</h2>
              <AgentTable rows={agents.map((row) => ({ ...row, agent: row.of }))} />
            </section>
          </>
        )}
      </Loading>
      <LastDay />
    </>
  );
}

export interface Day {
  readonly of: string;
  readonly runs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** A day without a run is a day with zero, oldest first. */
function fillDays(known: readonly Day[]): Day[] {
  const byDay = new Map(known.map((day) => [day.of, day]));
  return Array.from({ length: DAYS }, (_, i) => {
    const of = new Date(Date.now() - (DAYS - 1 - i) * DAY_MS).toISOString().slice(0, 10);
    const name = showDate(of);
    const day = byDay.get(of);
    return day ? { ...day, of: name } : { of: name, runs: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  });
}
