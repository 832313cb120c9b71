import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { StateMark } from '../../parts/state-mark.tsx';
import { draftOf } from '../../state/drafts.ts';
import { type Completing, Completion, completionAt } from './completion.tsx';

interface Props {
  readonly channelId: string;
  readonly threadId: string | null;
  readonly label: string;
  readonly handles: readonly string[];
  readonly hint?: string | undefined;
  readonly dock?: ComponentChildren;
  /** Resolves when the daemon has it. The same key has one effect, however often it is sent. */
  readonly send: (text: string, key: string) => Promise<void>;
}

/** A field that never loses what was typed: the draft is stored with each key and removed when the daemon has it. */
export function Composer(props: Props) {
  const { channelId, threadId, label } = props;
  const draft = draftOf(channelId, threadId);
  const [text, setText] = useState(() => draft.get() ?? '');
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [completing, setCompleting] = useState<Completing | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const key = useRef('');

  useLayoutEffect(() => {
    const element = field.current;
    // Where CSS can do it, measuring would lay out the whole page with each key.
    if (!element || CSS.supports('field-sizing', 'content')) return;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
  }, [text]);

  const write = (next: string): void => {
    setText(next);
    setProblem(null);
    key.current = '';
    draft.set(next === '' ? null : next);
  };
  const send = async (): Promise<void> => {
    if (text.trim() === '' || sending) return;
    key.current ||= crypto.randomUUID();
    setSending(true);
    try {
      await props.send(text, key.current);
      write('');
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setSending(false);
      field.current?.focus();
    }
  };
  const complete = (handle: string): void => {
    if (!completing) return;
    const next = `${text.slice(0, completing.from)}@${handle} ${text.slice(completing.to)}`;
    write(next);
    setCompleting(null);
    const at = completing.from + handle.length + 2;
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(at, at);
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const forList = completing?.onKey(event, complete, setCompleting) ?? false;
    if (!forList && (event.key !== 'Enter' || event.shiftKey || event.isComposing)) return;
    event.preventDefault();
    if (!forList) void send();
  };
  return (
    <div class="compose">
      {problem && (
        <div class="dock is-bad" role="alert">
          <StateMark mark="fail" />
          <div class="wrap">
            <b>Not sent.</b> {problem} Your text is kept.
          </div>
          <div class="acts">
            <button type="button" class="btn sm" onClick={() => void send()}>
              Send again
            </button>
          </div>
        </div>
      )}
      {!problem && props.dock}
      <div class="box">
        {completing && <Completion at={completing} onPick={complete} />}
        <textarea
          ref={field}
          rows={1}
          aria-label={label}
          placeholder={label}
          value={text}
          onInput={(event) => {
            write(event.currentTarget.value);
            setCompleting(completionAt(event.currentTarget, props.handles));
          }}
          onBlur={() => setCompleting(null)}
          onKeyDown={onKeyDown}
        />
        <div class="box-foot">
          <span class="desk">
            <kbd>@</kbd> mention
          </span>
          <span class="grow" />
          {props.hint && <span class="desk cut">{props.hint}</span>}
          <button
            type="button"
            class={`btn sm${text.trim() === '' ? '' : ' main-act'}`}
            disabled={text.trim() === '' || sending}
            onClick={() => void send()}
          >
            {threadId === null ? 'Send' : 'Reply'}
          </button>
        </div>
      </div>
      <div class="under desk">
        <span>{text === '' ? '' : 'Draft is kept on this device'}</span>
        <span class="grow" />
        {threadId === null && (
          <span>
            <kbd>Enter</kbd> sends, <kbd>Shift Enter</kbd> new line
          </span>
        )}
      </div>
    </div>
  );
}
