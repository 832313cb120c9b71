import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { beginningOf } from '../../parts/option.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showWait } from '../../parts/time.ts';
import { titleOfChannel } from '../../state/channels.ts';
import { now } from '../../state/clock.ts';
import { draftOf } from '../../state/drafts.ts';
import { answerNeed, type Need, snooze } from '../../state/needs.ts';
import { href } from '../../state/route.ts';
import { api, me } from '../../state/session.ts';
import { turnOf } from '../../state/turns.ts';
import { waits } from '../../state/waits.ts';
import { Body } from '../../text/body.tsx';
import { shown, shownJson } from '../../text/shown.ts';
import { Approve } from './approve.tsx';
import { isApproval, kindOf, markOf, titleOf, whatOf } from './need-words.ts';

type Act = (what: () => Promise<unknown>) => void;

const DAY_MS = 24 * 60 * 60_000;
const WAIT_MINUTES = 30;

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
            <StateMark mark={markOf(need)} />
            {kindOf(need)}
          </p>
          <h2 class="big">{need.kind === 'question' && !isApproval(need) ? `${need.who} asks you` : titleOf(need)}</h2>
          <What need={need} />
          <dl class="facts">
            <dt>Who waits</dt>
            <dd>
              {need.kind === 'limit' ? (
                `agents of ${need.limit.provider}`
              ) : (
                <a href={href('team', need.who)}>{need.who}</a>
              )}
            </dd>
            <dt>Since</dt>
            <dd>
              {showClock(need.since)}, {showWait(now.value - need.since)}
            </dd>
            {need.kind === 'question' && (
              <>
                <dt>Where</dt>
                <dd>
                  <a href={href('talk', need.channelId)}>{titleOfChannel(need.channelId)}</a>
                </dd>
              </>
            )}
            {need.kind === 'question' && need.question?.expiresAt && (
              <>
                <dt>Expires</dt>
                <dd>{showClock(need.question.expiresAt)}</dd>
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
            {need.kind !== 'failed-run' && need.kind !== 'limit' && (
              <>
                <dt>Blocks</dt>
                <dd>{blocksWhom(need)}</dd>
              </>
            )}
            {need.kind === 'limit' && (
              <>
                <dt>Ends</dt>
                <dd>{showClock(need.limit.until)}</dd>
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
  if (need.kind === 'question') return <Asked need={need} />;
  if (need.kind === 'failed-run') return <p class="quote wrap">{shown(need.run.error ?? 'No reason was recorded.')}</p>;
  if (need.kind === 'dead') {
    return (
      <>
        <p class="muted wrap">{whatOf(need)}</p>
        {need.messages.map((message) => (
          <div key={message.messageId} class="quote wrap">
            <a href={href('talk', message.channelId, message.messageId)}>{message.from}</a>: {shown(message.text)}
          </div>
        ))}
      </>
    );
  }
  return <p class="muted wrap">{whatOf(need)}</p>;
}

/** The agent, and those who wait for it. */
function blocksWhom(need: Need): string {
  const waiting = [...waits.value.values()].flat().filter(({ to }) => to === need.who);
  const others = [...new Set(waiting.map(({ from }) => from))];
  const self = need.blocks ? [need.who] : [];
  const all = [
    ...self,
    ...others.map((from) => (from === me.value ? 'you' : from)).map((from) => `${from}, who waits for ${need.who}`),
  ];
  return all.length === 0 ? 'nothing' : all.join('; ');
}

/** What Substrat says comes first; the arguments of a call are shown completely. */
function Asked({ need: { text, question } }: { readonly need: Need & { kind: 'question' } }) {
  return (
    <>
      <Body text={text} />
      {question?.arguments && <pre class="quote wrap">{shownJson(question.arguments)}</pre>}
      {question?.details && <Body text={question.details} />}
      {question?.unsandboxed && question.kind === 'approval' && (
        <p class="muted wrap">It runs outside a sandbox: nothing forces it to wait for your approval.</p>
      )}
    </>
  );
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
      {need.kind === 'question' &&
        (need.question?.kind === 'approval' ? (
          <Approve question={need.question} act={act} />
        ) : (
          <Answer need={need} act={act} />
        ))}
      {(need.kind === 'failed-run' || need.kind === 'dead') && (
        <a class="btn main-act" data-key="o" href={href('runs', need.run.id)}>
          Open the run <kbd>o</kbd>
        </a>
      )}
      {need.kind === 'dead' && (
        <button type="button" class="btn" onClick={() => act(() => sendAgain(need))}>
          Send again
        </button>
      )}
      {need.kind === 'stalled' && <Stalled id={need.id} agentId={need.agent.id} act={act} />}
      {need.kind === 'limit' && (
        <a class="btn" data-key="o" href={href('costs')}>
          Open limits <kbd>o</kbd>
        </a>
      )}
      {need.kind === 'paused' && (
        <button
          type="button"
          class="btn main-act"
          data-key="a"
          onClick={() => act(() => api.resumeAgent(need.agent.id))}
        >
          Resume <kbd>a</kbd>
        </button>
      )}
      {need.kind === 'stopped' && (
        <a class="btn main-act" data-key="a" href={href('costs')}>
          Open budgets <kbd>a</kbd>
        </a>
      )}
      {(need.kind === 'parked' || need.kind === 'stranded' || need.kind === 'paused' || need.kind === 'stopped') && (
        <a class="btn" data-key="o" href={href('team', need.who)}>
          Open {need.who} <kbd>o</kbd>
        </a>
      )}
      <span class="grow" />
      <PutOff onPutOff={onPutOff} />
    </div>
  );
}

/** The run goes on by itself: one can wait, begin again, or end it. */
function Stalled({ id, agentId, act }: { readonly id: string; readonly agentId: string; readonly act: Act }) {
  const runId = turnOf(agentId)?.runId;
  if (runId === undefined) return null;
  const wait = async (): Promise<void> => {
    await api.extendRun(runId, WAIT_MINUTES);
    snooze(id, WAIT_MINUTES * 60_000);
  };
  return (
    <>
      <a class="btn main-act" data-key="o" href={href('runs', runId)}>
        Open the run <kbd>o</kbd>
      </a>
      <button type="button" class="btn" data-key="a" onClick={() => act(wait)}>
        Wait {WAIT_MINUTES} min longer <kbd>a</kbd>
      </button>
      <button type="button" class="btn" onClick={() => act(() => api.restartRun(runId))}>
        Start again
      </button>
      <button type="button" class="btn danger" onClick={() => act(() => api.cancelRun(runId))}>
        Cancel run
      </button>
    </>
  );
}

/** Sends the reader's own lost messages once more, each once; the others are named by a note. */
async function sendAgain({ id, who, messages }: Need & { kind: 'dead' }): Promise<void> {
  for (const { messageId, from, text } of messages) {
    const words = from === me.peek() ? text : `You did not receive this message of ${from}:\n\n${text}`;
    await api.sendMessage(who, { text: words, inReplyTo: null }, { idempotencyKey: `again-${messageId}` });
  }
  snooze(id, DAY_MS);
}

function PutOff({ onPutOff }: { readonly onPutOff: () => void }): ComponentChildren {
  return (
    <button type="button" class="btn quiet" onClick={onPutOff}>
      Put off 1 h <kbd>s</kbd>
    </button>
  );
}

function Answer({ need, act }: { readonly need: Need & { kind: 'question' }; readonly act: Act }) {
  const draft = draftOf(need.channelId, need.id);
  const [text, setText] = useState(() => draft.get() ?? '');
  const field = useRef<HTMLTextAreaElement>(null);
  const write = (words: string): void => {
    setText(words);
    draft.set(words || null);
  };
  const pick = (option: string): void => {
    const begun = beginningOf(option);
    if (begun === null) send(option);
    else write(begun);
    field.current?.focus();
  };
  const send = (words: string): void => {
    if (words.trim() === '') return;
    act(async () => {
      await answerNeed(need, words);
      draft.set(null);
    });
  };
  return (
    <>
      {(need.question?.options ?? []).map((option, i) => (
        <button key={option} type="button" class="btn" data-key={String(i + 1)} onClick={() => pick(option)}>
          {shown(option)} {i < 9 && <kbd>{i + 1}</kbd>}
        </button>
      ))}
      <textarea
        ref={field}
        class="input decide-wide"
        rows={2}
        aria-label={`Answer ${need.who}`}
        placeholder={`Answer ${need.who}`}
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send(text);
        }}
      />
      <button
        type="button"
        class={`btn${text.trim() === '' ? '' : ' main-act'}`}
        disabled={text.trim() === ''}
        onClick={() => send(text)}
      >
        Answer <kbd>Enter</kbd>
      </button>
    </>
  );
}
