import { useState } from 'preact/hooks';
import type { Message } from '../../../../src/client/browser.ts';
import { Avatar } from '../../parts/avatar.tsx';
import { Icon } from '../../parts/icon.tsx';
import { plural } from '../../parts/numbers.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock, showFull, showMinute } from '../../parts/time.ts';
import { providers } from '../../state/agents.ts';
import { isPerson } from '../../state/people.ts';
import { putMessage } from '../../state/rooms.ts';
import { href } from '../../state/route.ts';
import { api, me } from '../../state/session.ts';
import { Body } from '../../text/body.tsx';
import { Attached } from './attached.tsx';
import { Reactions } from './reactions.tsx';

export interface Thread {
  readonly replies: readonly Message[];
  readonly isOpen: boolean;
}

/** One message. A notice of the system has no avatar and looks like no message. */
export function MessageRow({ message, thread }: { readonly message: Message; readonly thread: Thread | null }) {
  if (message.kind === 'notice' || message.kind === 'error') return <Notice message={message} />;
  const { from, createdAt } = message;
  return (
    <article class="msg" id={`m-${message.messageId}`} aria-label={`${from}, ${showClock(createdAt)}`}>
      <Avatar handle={from} person={isPerson(from)} />
      <div class="grow">
        <div class="by">
          <b>{from === me.value && from === 'user' ? 'you' : from}</b>
          <Provider handle={from} />
          <time dateTime={createdAt} title={showFull(createdAt)}>
            {showMinute(createdAt)}
          </time>
          {message.editedAt && <span class="faint">edited</span>}
          {message.request === 'open' && <span class="tag">waits for an answer</span>}
          {message.late && <span class="faint">late</span>}
        </div>
        <Said message={message} />
        {message.reactions.length > 0 && <Reactions message={message} />}
        {thread && thread.replies.length > 0 && <ThreadLink message={message} thread={thread} />}
      </div>
    </article>
  );
}

function Notice({ message }: { readonly message: Message }) {
  return (
    <article
      class={`event${message.kind === 'error' ? ' is-bad' : ''}`}
      id={`m-${message.messageId}`}
      aria-label={`${message.kind === 'error' ? 'Error' : 'Notice'}, ${showClock(message.createdAt)}`}
    >
      <StateMark mark={message.kind === 'error' ? 'fail' : 'wait'} />
      <span class="wrap">
        {message.from !== 'user' && <b>{message.from}: </b>}
        {message.text} <span class="faint">{showClock(message.createdAt)}</span>
      </span>
    </article>
  );
}

export function Provider({ handle }: { readonly handle: string }) {
  const provider = providers.value.get(handle);
  return provider ? <span class="prov">{provider}</span> : null;
}

function Said({ message }: { readonly message: Message }) {
  const [editing, setEditing] = useState(false);
  if (message.deletedAt) return <div class="body faint">This message was deleted.</div>;
  if (editing) return <Editor message={message} onDone={() => setEditing(false)} />;
  return (
    <>
      <Body text={message.text} />
      {message.attachments.length > 0 && <Attached message={message} />}
      <div class="msg-acts">
        <Reactions message={message} adding />
        {message.parentMessageId === null && (
          <a
            class="btn quiet square"
            href={href('talk', message.channelId, message.messageId)}
            aria-label="Reply in a thread"
          >
            <Icon name="reply" />
          </a>
        )}
        {message.from === me.value && (
          <button type="button" class="btn quiet square" aria-label="Edit" onClick={() => setEditing(true)}>
            <Icon name="edit" />
          </button>
        )}
      </div>
    </>
  );
}

export function Editor({ message, onDone }: { readonly message: Message; readonly onDone: () => void }) {
  const [text, setText] = useState(message.text);
  const [problem, setProblem] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    try {
      if (text.trim() === '') await api.deleteMessage(message.messageId);
      else putMessage(await api.editMessage(message.messageId, text));
      onDone();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="editor">
      <textarea
        class="input"
        aria-label="Edit the message"
        value={text}
        ref={(field) => field?.focus()}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onDone();
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void save();
        }}
      />
      {problem && <p class="bad small">Not saved. {problem}</p>}
      <div class="acts">
        <button type="button" class="btn sm main-act" onClick={() => void save()}>
          {text.trim() === '' ? 'Delete' : 'Save'}
        </button>
        <button type="button" class="btn sm" onClick={onDone}>
          Cancel
        </button>
      </div>
    </div>
  );
}

function ThreadLink({ message, thread }: { readonly message: Message; readonly thread: Thread }) {
  const { replies, isOpen } = thread;
  const last = replies.at(-1);
  const authors = [...new Set(replies.map(({ from }) => from))].slice(0, 3);
  return (
    <a class={`thread${isOpen ? ' is-open' : ''}`} href={href('talk', message.channelId, message.messageId)}>
      <span class="stack" aria-hidden="true">
        {authors.map((handle) => (
          <Avatar key={handle} handle={handle} person={isPerson(handle)} small />
        ))}
      </span>
      {plural(replies.length, 'reply', 'replies')}
      {last && <span class="muted">last {showClock(last.createdAt)}</span>}
    </a>
  );
}
