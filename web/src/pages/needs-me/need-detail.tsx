import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showWait } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { draftOf } from '../../state/drafts.ts';
import type { Need } from '../../state/needs.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { Body } from '../../text/body.tsx';
import { titleOf, whatOf } from './need-words.ts';

const KINDS = { question: 'Question', 'failed-run': 'Failed run', paused: 'Paused agent', parked: 'Parked agent' };

/** Who waits, since when, for what; what one can do stays in view below. */
export function NeedDetail({ need, onPutOff }: { readonly need: Need; readonly onPutOff: () => void }) {
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Details">
        <div class="detail">
          <a class="btn quiet sm narrow" href={href('needs-me')}>
            <Icon name="back" />
            Needs me
          </a>
          <p class="kicker">
            <StateMark mark={need.kind === 'failed-run' ? 'fail' : need.kind === 'parked' ? 'park' : 'need'} />
            {KINDS[need.kind]}
          </p>
          <h2 class="big">{need.kind === 'question' ? `${need.who} asks you` : titleOf(need)}</h2>
          <What need={need} />
          <dl class="facts">
            <dt>Who waits</dt>
            <dd>
              <a href={href('team', need.who)}>{need.who}</a>
            </dd>
            <dt>Since</dt>
            <dd>
              {showClock(need.since)}, {showWait(now.value - need.since)}
            </dd>
            {need.kind === 'question' && (
              <>
                <dt>Where</dt>
                <dd>
                  <a href={href('talk', need.channelId)}>{need.channelId}</a>
                </dd>
              </>
            )}
            {need.kind === 'failed-run' && (
              <>
                <dt>Attempts</dt>
                <dd>{need.run.attempt}</dd>
                <dt>Blocks</dt>
                <dd>{need.run.serves ? 'the request that it served, which was answered with an error' : 'nothing'}</dd>
              </>
            )}
          </dl>
        </div>
      </div>
      <Acts need={need} onPutOff={onPutOff} />
    </>
  );
}

function What({ need }: { readonly need: Need }) {
  if (need.kind === 'question') return <Body text={need.message.text} />;
  if (need.kind === 'failed-run') return <p class="quote wrap">{need.run.error ?? 'No reason was recorded.'}</p>;
  return <p class="muted wrap">{whatOf(need)}</p>;
}

function Acts({ need, onPutOff }: { readonly need: Need; readonly onPutOff: () => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const act = (what: () => Promise<unknown>): void => {
    setProblem(null);
    what().catch((error: Error) => setProblem(error.message));
  };
  return (
    <div class="decide">
      {problem && (
        <p class="bad decide-wide" role="alert">
          {problem}
        </p>
      )}
      {need.kind === 'question' && <Answer need={need} act={act} />}
      {need.kind === 'failed-run' && (
        <a class="btn main-act" href={href('runs', need.run.id)}>
          Open the run
        </a>
      )}
      {need.kind === 'paused' && (
        <button type="button" class="btn main-act" onClick={() => act(() => api.resumeAgent(need.agent.id))}>
          Resume
        </button>
      )}
      {need.kind === 'parked' && (
        <a class="btn" href={href('team', need.who)}>
          Open {need.who}
        </a>
      )}
      <span class="grow" />
      <PutOff onPutOff={onPutOff} />
    </div>
  );
}

function PutOff({ onPutOff }: { readonly onPutOff: () => void }): ComponentChildren {
  return (
    <button type="button" class="btn quiet" onClick={onPutOff}>
      Put off 1 h <kbd>s</kbd>
    </button>
  );
}

function Answer({
  need,
  act,
}: {
  readonly need: Need & { kind: 'question' };
  readonly act: (what: () => Promise<unknown>) => void;
}) {
  const draft = draftOf(need.channelId, need.id);
  const [text, setText] = useState(() => draft.get() ?? '');
  const send = (): void => {
    if (text.trim() === '') return;
    act(async () => {
      await api.sendMessage(need.who, { text, inReplyTo: need.id }, { idempotencyKey: `answer-${need.id}` });
      draft.set(null);
    });
  };
  return (
    <>
      <textarea
        class="input decide-wide"
        rows={2}
        aria-label={`Answer ${need.who}`}
        placeholder={`Answer ${need.who}`}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          draft.set(event.currentTarget.value || null);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <button
        type="button"
        class={`btn${text.trim() === '' ? '' : ' main-act'}`}
        disabled={text.trim() === ''}
        onClick={send}
      >
        Answer <kbd>Enter</kbd>
      </button>
    </>
  );
}
