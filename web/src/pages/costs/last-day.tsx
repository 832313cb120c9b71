import { Loading } from '../../parts/loading.tsx';
import { plural } from '../../parts/numbers.ts';
import { showMinute, showWait } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { api } from '../../state/session.ts';
import { Bars } from './bars.tsx';
import { toHours } from './hours.ts';

const HOURS = 24;
const PAGES = 3;

/** Runs, failures, waits and the queue of the last day, hour by hour. */
export function LastDay() {
  const hours = useLoad(
    'last day',
    async () => {
      const since = Date.now() - HOURS * 3_600_000;
      const first = await api.listRuns({ limit: 500 });
      const runs = [...first.items];
      let cursor = first.nextCursor;
      for (
        let page = 1;
        page < PAGES && cursor !== null && Date.parse(runs.at(-1)?.createdAt ?? '') > since;
        page += 1
      ) {
        const next = await api.listRuns({ limit: 500, cursor });
        runs.push(...next.items);
        cursor = next.nextCursor;
      }
      return toHours(runs, Date.now(), HOURS).map((hour) => ({ ...hour, of: showMinute(hour.at) }));
    },
    ({ type }) => type === 'run_ended' || type === 'run_started',
  );
  return (
    <Loading of={hours}>
      {(bars) => (
        <div class="plots four">
          <Bars
            title="Runs, last 24 hours"
            days={bars}
            value={({ runs }) => runs}
            show={(n) => plural(n, 'run')}
            unit="an hour"
          />
          <Bars
            title="Failed runs"
            days={bars}
            value={({ failed }) => failed}
            show={(n) => plural(n, 'failure')}
            unit="an hour"
            isBad
          />
          <Bars
            title="Time until a run starts"
            days={bars}
            value={({ wait }) => wait}
            show={(s) => showWait(s * 1000)}
            unit="median of the slowest hour"
            isMost
          />
          <Bars
            title="Longest queue"
            days={bars}
            value={({ queue }) => queue}
            show={(n) => plural(n, 'run')}
            unit="waited at once"
            isMost
          />
        </div>
      )}
    </Loading>
  );
}
