import type { Run, SentMessage, Trace } from '../../../../src/client/browser.ts';
import { plural, showCost, showCount } from '../../parts/numbers.ts';
import { Pane } from '../../parts/pane.tsx';
import { describeRun } from '../../parts/run-state.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showDuration } from '../../parts/time.ts';
import { channels, nameOf } from '../../state/channels.ts';
import { now } from '../../state/clock.ts';
import { href } from '../../state/route.ts';
import { me } from '../../state/session.ts';
import { shown } from '../../text/shown.ts';

interface Props {
  readonly run: Pick<Run, 'id' | 'agent'>;
  readonly trace: Trace;
  readonly sent: readonly SentMessage[];
}

/** The request followed through all agents, and what this run sent. */
export function TracePane({ run: { id, agent }, trace, sent }: Props) {
  const { message, runs, complete } = trace;
  const sum = (of: (run: Trace['runs'][number]) => number): number => runs.reduce((total, run) => total + of(run), 0);
  return (
    <Pane
      label="Trace"
      title="Trace"
      head={
        <span class="faint small cut">
          {plural(runs.length, 'run')}, {showCount(sum(({ tokens }) => tokens))} tokens,{' '}
          {showCost(sum(({ costUsd }) => costUsd))}
        </span>
      }
      back={href('runs', id)}
      close="Close the trace"
      region="Runs of the trace"
    >
      <div class="pane-body">
        <section>
          <h3>Began with</h3>
          {message ? (
            <a class="began" href={messageAddress(message)}>
              <b>{message.from === me.value && message.from === 'user' ? 'you' : message.from}</b>{' '}
              <span class="faint">{showClock(message.createdAt)}</span>
              <span class="found-text">{shown(message.text)}</span>
            </a>
          ) : (
            <p class="muted">The message that began it no longer exists.</p>
          )}
        </section>
        <section>
          <h3>Runs</h3>
          <ol class="trace">
            {inTree(runs).map(({ run, depth }) => (
              <TraceRow key={run.run} run={run} depth={depth} isThis={run.run === id} />
            ))}
          </ol>
          {!complete && <p class="muted small">Only the first {runs.length} runs are listed.</p>}
        </section>
        <section>
          <h3>Messages that this run sent</h3>
          {sent.length === 0 ? (
            <p class="muted">None.</p>
          ) : (
            <ul class="sent">
              {sent.map((one) => (
                <li key={one.messageId}>
                  <SentLink message={one} agent={agent} />
                  <span class="found-text">{shown(one.text)}</span>
                </li>
              ))}
            </ul>
          )}
        </section>
      </div>
    </Pane>
  );
}

function TraceRow({
  run,
  depth,
  isThis,
}: {
  readonly run: Trace['runs'][number];
  readonly depth: number;
  readonly isThis: boolean;
}) {
  const { mark, word } = describeRun(run);
  const took = run.startedAt
    ? showDuration((run.endedAt ? Date.parse(run.endedAt) : now.value) - Date.parse(run.startedAt))
    : 'not yet';
  return (
    <li class={`d${Math.min(depth, 6)}`}>
      <a href={href('runs', run.run, 'trace')} aria-current={isThis ? 'true' : undefined}>
        <StateMark mark={mark} />
        <b>{run.agent}</b>
        <span class="faint mono">{run.run.slice(-6)}</span>
        <span class="cut grow muted">{shown(run.error ?? word)}</span>
        <span class="nowrap faint">
          {took}
          {run.costUsd > 0 ? `, ${showCost(run.costUsd)}` : ''}
        </span>
      </a>
    </li>
  );
}

/** "message to #payments, 14:20". */
export function SentLink({ message, agent }: { readonly message: SentMessage; readonly agent: string }) {
  const channel = channels.value.get(message.channelId);
  const other = channel?.kind === 'dm' ? nameOf(channel, agent) : `#${message.channelId}`;
  return (
    <a class="nowrap" href={messageAddress(message)}>
      {message.kind} to {other === me.value && other === 'user' ? 'you' : other}, {showClock(message.createdAt)}
    </a>
  );
}

export function messageAddress({ channelId, parentMessageId, messageId }: Address): string {
  return href('talk', channelId, parentMessageId ?? messageId);
}

type Address = Pick<SentMessage, 'channelId' | 'parentMessageId' | 'messageId'>;

/** Each run under the one that caused it. */
function inTree(runs: Trace['runs']): { readonly run: Trace['runs'][number]; readonly depth: number }[] {
  const known = new Set(runs.map(({ run }) => run));
  const children = Map.groupBy(runs, ({ parent }) => (parent !== null && known.has(parent) ? parent : null));
  const below = (parent: string | null, depth: number): ReturnType<typeof inTree> =>
    (children.get(parent) ?? []).flatMap((run) => [{ run, depth }, ...below(run.run, depth + 1)]);
  return below(null, 0);
}
