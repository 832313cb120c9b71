import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { beginningOf } from '../../parts/option.ts';
import { showWait } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { answerNeed, type Need } from '../../state/needs.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { firstLine } from '../../text/first-line.ts';
import { shown, shownJson } from '../../text/shown.ts';
import { type Act, Dock } from './dock.tsx';

interface Props {
  readonly need: Need & { kind: 'question' };
  readonly more: ComponentChildren;
}

/** A question or an approval: who, what exactly, how long, what it blocks, then what one can do. */
export function QuestionDock({ need, more }: Props) {
  const { question } = need;
  const isApproval = question?.kind === 'approval';
  return (
    <Dock
      label={isApproval ? 'Approval that waits' : 'Question that waits'}
      mark="need"
      title={
        <>
          <b>{need.who}</b>
          {isApproval ? (
            <>
              {' '}
              asks to call <code>{question.tool}</code>
            </>
          ) : (
            `: ${shown(firstLine(need.text, 200))}`
          )}
        </>
      }
      sub={`Waits ${showWait(now.value - need.since)}. ${need.who} goes on ${need.blocks ? 'when you answer' : 'meanwhile'}.`}
      acts={(act) => (
        <>
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
        </>
      )}
    >
      {(act) =>
        isApproval ? (
          question.arguments && (
            <pre class="dock-wide value" tabIndex={0} aria-label="Arguments">
              {shownJson(question.arguments)}
            </pre>
          )
        ) : (
          <Answer need={need} act={act} />
        )
      }
    </Dock>
  );
}

function Answer({ need, act }: { readonly need: Need & { kind: 'question' }; readonly act: Act }) {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const pick = (option: string): void => {
    const begun = beginningOf(option);
    if (begun === null) act(() => answerNeed(need, option));
    else setText(begun);
    field.current?.focus();
  };
  return (
    <form
      class="dock-wide acts"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') act(() => answerNeed(need, text));
      }}
    >
      {(need.question?.options ?? []).map((option) => (
        <button key={option} type="button" class="btn sm" onClick={() => pick(option)}>
          {shown(option)}
        </button>
      ))}
      <input
        ref={field}
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
