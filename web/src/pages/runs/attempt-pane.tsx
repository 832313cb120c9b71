import type { FailedAttempt, Run } from '../../../../src/client/browser.ts';
import { Pane } from '../../parts/pane.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showDuration, showSecond } from '../../parts/time.ts';
import { href } from '../../state/route.ts';
import { shown } from '../../text/shown.ts';
import { Value } from './value.tsx';
import type { BreakRow } from './waterfall.ts';

/** "Attempt 1 failed: the provider answered 429. The next one began 2:10 later." */
export function describeBreak({ attempt, failed, waitedMs }: BreakRow): string {
  const why = failed ? `: ${shown(failed.error).replace(/\s+/g, ' ').replace(/\.$/, '')}.` : '. Why was not recorded.';
  return `Attempt ${attempt} failed${why} ${describeNext(failed, waitedMs)}`;
}

function describeNext(failed: FailedAttempt | null, waitedMs: number | null): string {
  if (waitedMs !== null) return `The next one began ${showDuration(waitedMs)} later.`;
  return failed ? 'The next one has not begun.' : '';
}

/** An attempt that broke: why, and what came next. */
export function AttemptPane({ run, row }: { readonly run: Pick<Run, 'id'>; readonly row: BreakRow }) {
  const { attempt, failed, waitedMs } = row;
  return (
    <Pane
      label="Attempt"
      title={`Attempt ${attempt}`}
      head={
        <span class="tag fail">
          <StateMark mark="fail" />
          failed
        </span>
      }
      back={href('runs', run.id)}
      close="Close the attempt"
      region="Why it failed"
    >
      <div class="pane-body">
        {failed && (
          <dl class="facts">
            <dt>Kind</dt>
            <dd>{failed.kind.replaceAll('_', ' ')}</dd>
            <dt>Failed at</dt>
            <dd>{showSecond(failed.at)}</dd>
            <dt>Next attempt</dt>
            <dd>
              {waitedMs === null ? `not before ${showSecond(failed.notBefore)}` : `${showDuration(waitedMs)} later`}
            </dd>
          </dl>
        )}
        {failed ? (
          <Value name="Why" text={shown(failed.error)} />
        ) : (
          <p class="muted">Why it failed was not recorded: the run is older than version 0.2.</p>
        )}
      </div>
    </Pane>
  );
}
