import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RunDetail } from '../../../../src/client/browser.ts';
import { Loading } from '../../parts/loading.tsx';
import { showCost } from '../../parts/numbers.ts';
import { PageBar } from '../../parts/page-bar.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showDuration, showSecond } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { addShortcuts } from '../../state/keys.ts';
import { useLoad } from '../../state/load.ts';
import { go, href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { AttemptPane, describeBreak } from './attempt-pane.tsx';
import { LiveTurn } from './live-turn.tsx';
import { RunHead } from './run-head.tsx';
import { StepPane } from './step-pane.tsx';
import { TracePane } from './trace-pane.tsx';
import { type BreakRow, type Row, type Scale, type StepRow, toRows, toScale } from './waterfall.ts';

const LOOK_MS = 2000;

/** What happened in a run, and where it broke. */
export function RunPage({ id, open }: { readonly id: string; readonly open: string | null }) {
  const run = useLoad(
    `run ${id}`,
    () => api.getRun(id),
    (event) => 'runId' in event.data && event.data.runId === id,
  );
  const isRunning = run.value?.state === 'running';
  useEffect(() => {
    if (!isRunning) return;
    // Records of a turn have no events: a run that is watched is read again.
    const timer = setInterval(run.reload, LOOK_MS);
    return () => clearInterval(timer);
  }, [isRunning, run.reload]);
  return (
    <>
      <PageBar
        above={
          <a class="muted" href={href('runs')}>
            Runs
          </a>
        }
        title={`${run.value?.agent ?? ''} / ${id.slice(0, 8)}`}
      >
        {run.value && (
          <a class="btn desk" href={href('team', run.value.agent)}>
            Message {run.value.agent}
          </a>
        )}
        {(isRunning || run.value?.state === 'created') && (
          <button type="button" class="btn danger" onClick={() => void api.cancelRun(id).catch(run.reload)}>
            Cancel run
          </button>
        )}
      </PageBar>
      <Loading of={run}>{(value) => <Whole run={value} opened={open} />}</Loading>
    </>
  );
}

interface WholeProps {
  readonly run: RunDetail;
  /** The number of a step, "attempt-1", or "trace". */
  readonly opened: string | null;
}

function Whole({ run, opened }: WholeProps) {
  const end = run.endedAt ? Date.parse(run.endedAt) : now.value;
  const rows = useMemo(() => toRows(run, end), [run]);
  const scale = useMemo(() => toScale(rows), [rows]);
  const steps = rows.filter((one): one is StepRow => one.kind !== 'gap' && one.kind !== 'break');
  const at = steps.findIndex(({ n }) => String(n) === opened);
  const open = steps[at];
  const broken = rows.find((row): row is BreakRow => row.kind === 'break' && `attempt-${row.attempt}` === opened);
  const way = useLoad(
    `way ${run.id} ${run.state}`,
    async () => {
      const [trace, sent] = await Promise.all([api.getTrace(run.id), api.listSent(run.id)]);
      return { trace, sent: sent.items };
    },
    ({ type }) => type === 'run_started' || type === 'run_ended',
  );
  const sent = way.value?.sent ?? [];
  const trace = way.value?.trace ?? null;
  const isTrace = opened === 'trace' && trace !== null;
  useEffect(() => {
    const move = (step: number): void => {
      const next = steps[Math.min(Math.max(at + step, 0), steps.length - 1)];
      if (next) go('runs', run.id, String(next.n));
    };
    return addShortcuts([
      { keys: 'j', what: 'Next step', run: () => move(1) },
      { keys: 'k', what: 'Previous step', run: () => move(-1) },
    ]);
  }, [at, run]);
  return (
    <div class={`split${open || broken || isTrace ? ' has-pane' : ' alone'}`}>
      <div class="col">
        <RunHead run={run} end={end} steps={steps.length} trace={trace} sent={sent} />
        <Waterfall runId={run.id} rows={rows} scale={scale} open={(open ?? broken)?.n ?? null} />
        {run.state === 'running' && <LiveTurn runId={run.id} />}
        <div class="legend desk">
          {(['model', 'tool', 'message', 'bad'] as const).map((kind) => (
            <span key={kind}>
              <svg viewBox="0 0 16 8" aria-hidden="true">
                <rect class={`k-${kind}`} width="16" height="8" rx="1" />
              </svg>
              {kind === 'bad' ? 'failed' : kind}
            </span>
          ))}
        </div>
      </div>
      {open && <StepPane key={open.n} run={run} step={open} sent={sent} />}
      {broken && <AttemptPane key={broken.attempt} run={run} row={broken} />}
      {isTrace && <TracePane run={run} trace={trace} sent={sent} />}
    </div>
  );
}

interface WaterfallProps {
  readonly runId: string;
  readonly rows: readonly Row[];
  readonly scale: Scale;
  readonly open: number | null;
}

/** Only the rows in sight exist: a run may have ten thousand. All have one height, so a place is a multiplication. */
function Waterfall({ runId, rows, scale, open }: WaterfallProps) {
  const box = useRef<HTMLDivElement>(null);
  const height = matchMedia('(max-width: 720px)').matches ? 44 : 32;
  const [top, setTop] = useState(0);
  const room = box.current?.clientHeight ?? 900;
  const first = Math.max(0, Math.floor(top / height) - 10);
  const shown = rows.slice(first, first + Math.ceil(room / height) + 20);
  return (
    <>
      <div class="wf-head" aria-hidden="true">
        <span class="num">#</span>
        <span>Kind</span>
        <span>Step</span>
        <span class="num">Time</span>
        <span class="num cost">Cost</span>
        <span class="wf-axis">
          <span>{scale.start > 0 && showSecond(scale.start)}</span>
          <span>{scale.end > 1 && showSecond(scale.end)}</span>
        </span>
      </div>
      <div
        class="scroll"
        role="region"
        aria-label="Steps"
        tabIndex={0}
        ref={box}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <svg class="spacer" width="1" height={first * height} aria-hidden="true" />
        {shown.map((row) => (
          <RowLine
            key={`${row.kind} ${row.n}`}
            runId={runId}
            row={row}
            scale={scale}
            isOpen={row.kind !== 'gap' && row.n === open}
          />
        ))}
        <svg
          class="spacer"
          width="1"
          height={Math.max(0, rows.length - first - shown.length) * height}
          aria-hidden="true"
        />
        {rows.length === 0 && <p class="more-row muted">Nothing was recorded yet.</p>}
      </div>
    </>
  );
}

function RowLine({
  runId,
  row,
  scale,
  isOpen,
}: {
  readonly runId: string;
  readonly row: Row;
  readonly scale: Scale;
  readonly isOpen: boolean;
}) {
  if (row.kind === 'gap') return <div class="wf-note is-gap">{showDuration(row.ms)} idle. Not drawn to scale</div>;
  if (row.kind === 'break') {
    return (
      <button
        type="button"
        class="wf-note is-break"
        aria-pressed={isOpen}
        onClick={() => go('runs', runId, `attempt-${row.attempt}`)}
      >
        <StateMark mark="fail" />
        <span class="cut">{describeBreak(row)}</span>
      </button>
    );
  }
  const [x, until] = [scale.at(row.start), scale.at(row.end)];
  return (
    <button type="button" class="wf-row" aria-pressed={isOpen} onClick={() => go('runs', runId, String(row.n))}>
      <span class="n">{row.n}</span>
      <span class="kind">{row.kind}</span>
      <span class="what">
        {row.failed && <StateMark mark="fail" />}
        {row.tool ? <code class="nowrap">{row.tool}</code> : null}
        <span class={`cut${row.tool ? ' faint' : ''}`}>{row.what}</span>
      </span>
      <span class="dur">{showDuration(row.end - row.start)}</span>
      <span class="dur cost">{row.usage && showCost(row.usage.costUsd)}</span>
      <svg class="wf-bar" aria-hidden="true">
        {scale.gaps.map((gap) => (
          <rect key={gap.x} class="g-gap" x={`${gap.x}%`} width={`${gap.width}%`} height="100%" />
        ))}
        <rect
          class={row.failed ? 'k-bad' : row.kind === 'prompt' ? 'k-tool' : `k-${row.kind}`}
          x={`${Math.min(x, 99)}%`}
          y="11"
          height="10"
          rx="1"
          width={until - x < 0.7 ? '3' : `${until - x}%`}
        />
      </svg>
    </button>
  );
}
