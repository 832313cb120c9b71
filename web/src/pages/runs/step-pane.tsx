import type { Run, SentMessage } from '../../../../src/client/browser.ts';
import { showCost, showCount } from '../../parts/numbers.ts';
import { Pane } from '../../parts/pane.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showDuration, showSecond } from '../../parts/time.ts';
import { href } from '../../state/route.ts';
import { PromptSections } from './prompt-sections.tsx';
import { SentLink } from './trace-pane.tsx';
import { Value } from './value.tsx';
import { type StepRow, showValue } from './waterfall.ts';

interface Props {
  readonly run: Pick<Run, 'id' | 'agent'>;
  readonly step: StepRow;
  /** What the run sent. */
  readonly sent: readonly SentMessage[];
}

/** One step: what was asked for, what came back, and where it led. */
export function StepPane({ run, step, sent }: Props) {
  const result = showValue(step.result);
  const led = step.tool ? sent.filter(({ messageId }) => result.includes(messageId)) : [];
  return (
    <Pane
      label="Step"
      title={`Step ${step.n}`}
      head={
        step.failed && (
          <span class="tag fail">
            <StateMark mark="fail" />
            failed
          </span>
        )
      }
      tail={
        <span class="desk">
          <kbd>j</kbd> <kbd>k</kbd>
        </span>
      }
      back={href('runs', run.id)}
      close="Close the step"
      region="Arguments and result"
    >
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
          {step.usage && (
            <>
              <dt>Used</dt>
              <dd>
                {showCount(step.usage.inputTokens)} tokens in, {showCount(step.usage.outputTokens)} out,{' '}
                {showCost(step.usage.costUsd)}
              </dd>
            </>
          )}
          {led.length > 0 && (
            <>
              <dt>Led to</dt>
              <dd>
                {led.map((message) => (
                  <SentLink key={message.messageId} message={message} agent={run.agent} />
                ))}
              </dd>
            </>
          )}
        </dl>
        {step.tool && <Value name="Arguments" text={showValue(step.call)} />}
        {step.sections ? (
          <PromptSections sections={step.sections} />
        ) : (
          <Value name={step.tool ? 'Result' : 'Text'} text={result} />
        )}
      </div>
    </Pane>
  );
}
