import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run, RunMessage } from '../../../../src/client/browser.ts';
import { Loading } from '../../parts/loading.tsx';
import { showCost, showCount } from '../../parts/numbers.ts';
import { PageBar } from '../../parts/page-bar.tsx';
import { describeRun } from '../../parts/run-state.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showDuration, showSecond } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { addShortcuts } from '../../state/keys.ts';
import { useLoad } from '../../state/load.ts';
import { go, href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { LiveTurn } from './live-turn.tsx';
import { StepPane } from './step-pane.tsx';
import { type Row, type Scale, type StepRow, toRows, toScale } from './waterfall.ts';

const LOOK_MS = 2000;

/** What happened in a run, and where it broke. */
export function RunPage({ id, row }: { readonly id: string; readonly row: number | null }) {
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
      <Loading of={run}>{(value) => <Whole run={value} row={row} />}</Loading>
    </>
  );
}

function Whole({ run, row }: { readonly run: Run & { messages: RunMessage[] }; readonly row: number | null }) {
  const end = run.endedAt ? Date.parse(run.endedAt) : now.value;
  const rows = useMemo(() => toRows(run.messages, end), [run]);
  const scale = useMemo(() => toScale(rows), [rows]);
  const steps = rows.filter((one): one is StepRow => one.kind !== 'gap' && one.kind !== 'break');
  const at = steps.findIndex(({ n }) => n === row);
  const open = steps[at];
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
    <div class={`split${open ? ' has-pane' : ' alone'}`}>
      <div class="col">
        <Head run={run} end={end} steps={steps.length} />
        <Waterfall runId={run.id} rows={rows} scale={scale} open={open?.n ?? null} />
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
      {open && <StepPane key={open.n} runId={run.id} step={open} />}
    </div>
  );
}

function Head({ run, end, steps }: { readonly run: Run; readonly end: number; readonly steps: number }) {
  const { mark, word } = describeRun(run);
  const trigger = useLoad(`trigger ${run.triggerId}`, async () =>
    run.triggerId === null ? null : api.getMessage(run.triggerId).catch(() => null),
  );
  const kind = mark === 'run' ? ' run' : mark === 'fail' ? ' fail' : '';
  return (
    <div class="run-head">
      <div class="run-title">
        <h2>{run.agent}</h2>
        <span class={`tag${kind}`}>
          <StateMark mark={mark} />
          {word}
        </span>
      </div>
      {run.error && <p class="bad wrap">{run.error}</p>}
      {run.finalText && (
        <p class="quote wrap final" title="Final text">
          {run.finalText.length > 400 ? `${run.finalText.slice(0, 399)}…` : run.finalText}
        </p>
      )}
      <dl class="figs">
        <Fig name="Started" value={run.startedAt ? showSecond(run.startedAt) : 'not yet'} />
        <Fig
          name={run.endedAt ? 'Took' : 'Runs for'}
          value={run.startedAt ? showDuration(end - Date.parse(run.startedAt)) : '0:00'}
        />
        <Fig name="Steps" value={String(steps)} />
        <Fig name="Attempts" value={String(run.attempt)} />
        <Fig
          name="Tokens"
          value={`${showCount(run.usage.inputTokens)} in`}
          more={`${showCount(run.usage.outputTokens)} out`}
        />
        <Fig name="Cost" value={showCost(run.usage.costUsd)} />
      </dl>
      {trigger.value && (
        <p class="small muted">
          Started by{' '}
          <a href={href('talk', trigger.value.channelId, trigger.value.parentMessageId ?? trigger.value.messageId)}>
            {trigger.value.from}’s message, {showClock(trigger.value.createdAt)}
          </a>
          .
        </p>
      )}
    </div>
  );
}

function Fig({ name, value, more }: { readonly name: string; readonly value: string; readonly more?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {more && <span>{more}</span>}
      </dd>
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
            isOpen={row.kind !== 'gap' && row.kind !== 'break' && row.n === open}
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
      <div class="wf-note is-break">
        <StateMark mark="wait" />
        Attempt {row.attempt} broke here; the next one follows.
      </div>
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
