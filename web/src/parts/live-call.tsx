import { now } from '../state/clock.ts';
import { href } from '../state/route.ts';
import type { Turn } from '../state/turns.ts';
import { shown } from '../text/shown.ts';
import { StateMark } from './state-mark.tsx';
import { showDuration } from './time.ts';

const MARKS = { running: 'run', done: 'done', failed: 'fail' } as const;

/** The present tool call of a turn, with its number and for how long it runs. */
export function LiveCall({ turn }: { readonly turn: Turn }) {
  const { call, calls } = turn.step.value;
  if (!call) return null;
  return (
    <a class="live-call" href={href('runs', turn.runId)}>
      <StateMark mark={MARKS[call.state]} />
      <b>{call.tool}</b>
      <code class="cut grow">{shown(call.args)}</code>
      <span class="faint nowrap">
        {[
          ...(calls === null ? [] : [`call ${calls}`]),
          ...(call.state === 'running' ? [showDuration(now.value - call.since)] : []),
        ].join(' · ')}
      </span>
    </a>
  );
}
