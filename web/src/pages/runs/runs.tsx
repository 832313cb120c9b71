import { useEffect, useState } from 'preact/hooks';
import type { Run } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Loading } from '../../parts/loading.tsx';
import { showCost, showCount } from '../../parts/numbers.ts';
import { PageBar } from '../../parts/page-bar.tsx';
import { describeRun } from '../../parts/run-state.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showDuration } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { useLoad } from '../../state/load.ts';
import { href, route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { RunPage } from './run-page.tsx';

const STATES = [undefined, 'running', 'created', 'failed', 'completed', 'cancelled'] as const;
const NAMES = { created: 'queued' } as const;

export function Runs() {
  const [, id, open] = route.value;
  return id === undefined ? <RunList /> : <RunPage key={id} id={id} open={open ?? null} />;
}

function RunList() {
  const [state, setState] = useState<Run['state'] | undefined>(undefined);
  const [older, setOlder] = useState<readonly Run[]>([]);
  const [cursor, setCursor] = useState<string | null | undefined>(undefined);
  const first = useLoad(
    `runs ${state}`,
    () => api.listRuns({ state, limit: 100 }),
    ({ type }) => type.startsWith('run_'),
  );
  useEffect(() => {
    setOlder([]);
    setCursor(undefined);
  }, [state]);
  const next = cursor === undefined ? (first.value?.nextCursor ?? null) : cursor;
  const readOn = async (): Promise<void> => {
    const page = await api.listRuns({ state, limit: 100, cursor: next ?? undefined });
    setOlder([...older, ...page.items]);
    setCursor(page.nextCursor);
  };
  return (
    <>
      <PageBar title="Runs">
        <div class="tabs desk">
          {STATES.map((one) => (
            <button key={one ?? 'all'} type="button" aria-pressed={state === one} onClick={() => setState(one)}>
              {one === undefined ? 'all' : one === 'created' ? NAMES.created : one}
            </button>
          ))}
        </div>
      </PageBar>
      <div class="scroll">
        <Loading of={first}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon="runs" title="No run is like that">
                A run is one turn of an agent: write to an agent, and it takes one.
              </Empty>
            ) : (
              <>
                <RunTable runs={[...items, ...older.filter(({ id }) => !items.some((run) => run.id === id))]} />
                {next && (
                  <div class="more-row">
                    <button type="button" class="btn" onClick={() => void readOn()}>
                      Load older runs
                    </button>
                  </div>
                )}
              </>
            )
          }
        </Loading>
      </div>
    </>
  );
}

function RunTable({ runs }: { readonly runs: readonly Run[] }) {
  return (
    <table class="tbl cards runs">
      <thead>
        <tr>
          <th>Agent</th>
          <th>State and result</th>
          <th class="num">Started</th>
          <th class="num">Time</th>
          <th class="num c-tok">Tokens</th>
          <th class="num">Cost</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => {
          const { mark, word } = describeRun(run);
          return (
            <tr key={run.id}>
              <td>
                <a class="plain" href={href('runs', run.id)}>
                  {run.agent}
                </a>
              </td>
              <td class="wide">
                <div class={`why ${mark}`}>
                  <StateMark mark={mark} />
                  <span class="txt nowrap">{word}</span>
                  <span class="cut faint result">{run.error ?? run.finalText}</span>
                </div>
              </td>
              <td class="num extra">{showClock(run.startedAt ?? run.createdAt)}</td>
              <td class="num extra">{showDuration(timeOf(run))}</td>
              <td class="num c-tok extra">{showCount(run.usage.inputTokens + run.usage.outputTokens)}</td>
              <td class="num extra">{showCost(run.usage.costUsd)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function timeOf({ startedAt, endedAt }: Run): number {
  if (!startedAt) return 0;
  return (endedAt ? Date.parse(endedAt) : now.value) - Date.parse(startedAt);
}
