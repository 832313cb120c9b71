import { useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { showSize } from '../../parts/numbers.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showDuration, showSecond } from '../../parts/time.ts';
import { href } from '../../state/route.ts';
import { type StepRow, showValue } from './waterfall.ts';

/** One step: what was asked for, and what came back. */
export function StepPane({ runId, step }: { readonly runId: string; readonly step: StepRow }) {
  return (
    <aside class="pane" aria-label="Step">
      <div class="pane-head">
        <h2>Step {step.n}</h2>
        {step.failed && (
          <span class="tag fail">
            <StateMark mark="fail" />
            failed
          </span>
        )}
        <span class="grow" />
        <span class="desk">
          <kbd>j</kbd> <kbd>k</kbd>
        </span>
        <a class="btn quiet square" href={href('runs', runId)} aria-label="Close the step">
          <Icon name="close" />
        </a>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Arguments and result">
        <div class="pane-body">
          <dl class="facts">
            <dt>{step.tool ? 'Tool' : 'Kind'}</dt>
            <dd class={step.tool ? 'mono' : undefined}>{step.tool ?? step.kind}</dd>
            <dt>Time</dt>
            <dd>
              {showSecond(step.start)} to {showSecond(step.end)}, {showDuration(step.end - step.start)}
            </dd>
            <dt>Attempt</dt>
            <dd>{step.attempt}</dd>
          </dl>
          {step.tool && <Value name="Arguments" text={showValue(step.call)} />}
          <Value name={step.tool ? 'Result' : 'Text'} text={showValue(step.result)} />
        </div>
      </div>
    </aside>
  );
}

const MOST = 4000;

/** A huge value is cut, with its true size. */
function Value({ name, text }: { readonly name: string; readonly text: string }) {
  const [whole, setWhole] = useState(false);
  const isCut = !whole && text.length > MOST;
  return (
    <section>
      <h3>
        <span class="grow">{name}</span>
        <span>{showSize(text.length)}</span>
      </h3>
      <pre class="value" tabIndex={0} aria-label={name}>
        {text === '' ? 'nothing' : isCut ? text.slice(0, MOST) : text}
      </pre>
      {isCut && (
        <button type="button" class="btn sm" onClick={() => setWhole(true)}>
          Load all, {showSize(text.length)}
        </button>
      )}
    </section>
  );
}
