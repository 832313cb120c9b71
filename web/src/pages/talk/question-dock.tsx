import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { StateMark } from '../../parts/state-mark.tsx';
import { showWait } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { answerNeed, type Need } from '../../state/needs.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { shown, shownJson } from '../../text/shown.ts';

interface Props {
  readonly need: Need & { kind: 'question' };
  readonly more: ComponentChildren;
}

/** A question or an approval: who, what exactly, how long, what it blocks, then what one can do. */
export function QuestionDock({ need, more }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const act = (what: () => Promise<unknown>): void => {
    setProblem(null);
    what().catch((error: Error) => setProblem(error.message));
  };
  const { question } = need;
  const isApproval = question?.kind === 'approval';
  return (
    <section class="dock" aria-label={isApproval ? 'Approval that waits' : 'Question that waits'}>
      <StateMark mark="need" />
      <div class="wrap">
        <b>{need.who}</b>{' '}
        {isApproval ? (
          <>
            asks to call <code>{question.tool}</code>
          </>
        ) : (
          shown(firstLine(need.text))
        )}
      </div>
      <div class="sub">
        Waits {showWait(now.value - need.since)}.{' '}
        {need.blocks ? `${need.who} goes on when you answer.` : `${need.who} goes on meanwhile.`}
        {problem && (
          <span class="bad" role="alert">
            {' '}
            {problem}
          </span>
        )}
      </div>
      <div class="acts">
        {more}
        <a class="btn quiet sm" href={href('needs-me', need.id)}>
          Details
        </a>
        {isApproval && (
          <>
            <button type="button" class="btn sm" onClick={() => act(() => api.rejectQuestion(question.id))}>
              Reject
            </button>
            <button type="button" class="btn sm main-act" onClick={() => act(() => api.approveQuestion(question.id))}>
              Approve once
            </button>
          </>
        )}
      </div>
      {isApproval && question.arguments && (
        <pre class="dock-wide value" tabIndex={0} aria-label="Arguments">
          {shownJson(question.arguments)}
        </pre>
      )}
      {!isApproval && <Answer need={need} act={act} />}
    </section>
  );
}

function Answer({
  need,
  act,
}: {
  readonly need: Need & { kind: 'question' };
  readonly act: (what: () => Promise<unknown>) => void;
}) {
  const [text, setText] = useState('');
  return (
    <form
      class="dock-wide acts"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') act(() => answerNeed(need, text));
      }}
    >
      {(need.question?.options ?? []).map((option) => (
        <button key={option} type="button" class="btn sm" onClick={() => act(() => answerNeed(need, option))}>
          {shown(option)}
        </button>
      ))}
      <input
        class="input grow"
        aria-label={`Answer ${need.who}`}
        placeholder={`Answer ${need.who}`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="btn sm" disabled={text.trim() === ''}>
        Answer
      </button>
    </form>
  );
}

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
