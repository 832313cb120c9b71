import type { Run, RunDetail, SentMessage, Trace } from '../../../../src/client/browser.ts';
import { Fig } from '../../parts/fig.tsx';
import { showCost, showCount } from '../../parts/numbers.ts';
import { describeRun } from '../../parts/run-state.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showDuration, showSecond } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api, me } from '../../state/session.ts';
import { Body } from '../../text/body.tsx';
import { shown } from '../../text/shown.ts';
import { messageAddress, SentLink } from './trace-pane.tsx';

interface Props {
  readonly run: RunDetail;
  readonly end: number;
  readonly steps: number;
  readonly trace: Trace | null;
  readonly sent: readonly SentMessage[];
}

/** So many links stand in the line; the pane has all. */
const MOST = 4;

/** State and cost of a run, where it came from, and where it led. */
export function RunHead({ run, end, steps, trace, sent }: Props) {
  const { mark, word } = describeRun(run);
  const kind = mark === 'run' ? ' run' : mark === 'fail' ? ' fail' : '';
  const { progress } = run;
  return (
    <div class="run-head">
      <div class="run-title">
        <h2>{run.agent}</h2>
        <span class={`tag${kind}`}>
          <StateMark mark={mark} />
          {word}
        </span>
        {progress && progress.state !== 'working' && (
          <span class="tag warn">
            <StateMark mark="need" />
            {progress.state}
          </span>
        )}
      </div>
      {progress?.reason && <p class="muted wrap">{progress.reason}</p>}
      {run.error && <p class="bad wrap">{shown(run.error)}</p>}
      {run.finalText && (
        <div class="quote wrap final" title="Final text">
          <Body text={run.finalText.length > 600 ? `${run.finalText.slice(0, 599)}…` : run.finalText} />
        </div>
      )}
      <dl class="figs">
        <Fig name="Started" value={run.startedAt ? showSecond(run.startedAt) : 'not yet'} />
        <Fig
          name={run.endedAt ? 'Took' : 'Runs for'}
          value={run.startedAt ? showDuration(end - Date.parse(run.startedAt)) : '0:00'}
        />
        <Fig name="Steps" value={String(steps)} />
        <Fig name="Attempts" value={String(run.attempt)} more={brokenWords(run)} />
        <Fig
          name="Tokens"
          value={`${showCount(run.usage.inputTokens)} in`}
          more={`${showCount(run.usage.outputTokens)} out`}
        />
        <Fig name="Cost" value={showCost(run.usage.costUsd)} />
      </dl>
      <Way run={run} trace={trace} sent={sent} />
    </div>
  );
}

/** "1 failed: rate limit"; of several kinds, the last. */
function brokenWords({ failedAttempts }: RunDetail): string {
  const last = failedAttempts.at(-1);
  return last ? `${failedAttempts.length} failed: ${last.kind.replaceAll('_', ' ')}` : '';
}

/** The message that started the run, those that it sent, and the trace that both belong to. */
function Way({ run, trace, sent }: Pick<Props, 'run' | 'trace' | 'sent'>) {
  const trigger = useLoad(`trigger ${run.triggerId}`, async () =>
    run.triggerId === null ? null : api.getMessage(run.triggerId).catch(() => null),
  );
  return (
    <p class="way small muted">
      {trigger.value && (
        <span>
          Started by{' '}
          <a href={messageAddress(trigger.value)}>
            {trigger.value.from === me.value ? 'your' : `${trigger.value.from}’s`} message,{' '}
            {showClock(trigger.value.createdAt)}
          </a>
          .
        </span>
      )}{' '}
      {sent.length > 0 && (
        <span>
          Sent{' '}
          {sent.slice(0, MOST).map((one, i) => (
            <span key={one.messageId}>
              {i > 0 && ', '}
              <SentLink message={one} agent={run.agent} />
            </span>
          ))}
          {sent.length > MOST && ` and ${sent.length - MOST} more`}.
        </span>
      )}{' '}
      {trace && (
        <span>
          <a href={href('runs', run.id, 'trace')}>One trace</a>: <Hops run={run} trace={trace} />.
        </span>
      )}
    </p>
  );
}

/** "you → ada → ben". */
function Hops({ run, trace }: { readonly run: Run; readonly trace: Trace }) {
  const from = trace.message?.from ?? 'unknown';
  const at = Math.max(
    0,
    trace.runs.findIndex((one) => one.run === run.id),
  );
  const first = Math.max(0, Math.min(at - 1, trace.runs.length - MOST));
  const shown = trace.runs.slice(first, first + MOST);
  return (
    <>
      {from === me.value && from === 'user' ? 'you' : from}
      {first > 0 && ` → ${first} more`}
      {shown.map((one) => (
        <span key={one.run}>
          {' → '}
          {one.run === run.id ? (
            <b>{one.agent}</b>
          ) : (
            <a href={href('runs', one.run)}>
              {one.agent}
              <span class="sr"> run {one.run.slice(-6)}</span>
            </a>
          )}
        </span>
      ))}
      {first + MOST < trace.runs.length && ` → ${trace.runs.length - first - MOST} more`}
    </>
  );
}
