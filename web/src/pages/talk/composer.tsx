import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { StateMark } from '../../parts/state-mark.tsx';
import type { ChosenFile } from '../../state/draft-files.ts';
import { draftOf, keyOfDraft, placeOf } from '../../state/drafts.ts';
import { type Completing, Completion, completionAt } from './completion.tsx';
import { AttachButton, ChosenFiles, type Files, useFiles } from './files.tsx';

interface Props {
  readonly channelId: string;
  readonly threadId: string | null;
  readonly label: string;
  readonly handles: readonly string[];
  readonly hint?: string | undefined;
  readonly dock?: ComponentChildren;
  /** Resolves when the daemon has it. The same key has one effect, however often it is sent. */
  readonly send: (text: string, key: string, files: readonly ChosenFile[]) => Promise<void>;
}

/**
 * A field that never loses what was typed: the draft, with its files, is stored with each key and removed when the
 * daemon has it.
 */
export function Composer(props: Props) {
  const { channelId, threadId, label } = props;
  const draft = draftOf(channelId, threadId);
  const [text, setText] = useState(() => draft.get() ?? '');
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [completing, setCompleting] = useState<Completing | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  /** Where it goes after a mention was completed. */
  const caret = useRef<number | null>(null);
  const keptKey = keyOfDraft(channelId, threadId);
  const key = useRef(keptKey.get());
  const setKey = (next: string | null): void => {
    key.current = next;
    keptKey.set(next);
  };
  // Another message has another key.
  const files = useFiles(placeOf(channelId, threadId), () => {
    setKey(null);
    setProblem(null);
  });
  const [isOver, setOver] = useState(false);

  useLayoutEffect(() => {
    const element = field.current;
    // Where CSS can do it, measuring would lay out the whole page with each key.
    if (!element || CSS.supports('field-sizing', 'content')) return;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
  }, [text]);

  // With the text, not in the next frame: the next key may come before that.
  useLayoutEffect(() => {
    if (caret.current === null) return;
    field.current?.focus();
    field.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [text]);

  const write = (next: string): void => {
    setText(next);
    setProblem(null);
    setKey(null);
    draft.set(next === '' ? null : next);
  };
  const send = async (): Promise<void> => {
    if (text.trim() === '' || sending) return;
    const sentWith = key.current ?? crypto.randomUUID();
    setKey(sentWith);
    setSending(true);
    try {
      await props.send(text, sentWith, files.chosen);
      write('');
      files.clear();
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
    caret.current = completing.from + handle.length + 2;
    write(next);
    setCompleting(null);
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
            <b>Not sent.</b> {problem} Your draft is kept.
          </div>
          <div class="acts">
            <button type="button" class="btn sm" onClick={() => void send()}>
              Send again
            </button>
          </div>
        </div>
      )}
      {!problem && props.dock}
      <div
        class={`box${isOver ? ' is-over' : ''}`}
        role="group"
        aria-label={label}
        onDragOver={(event) => {
          if (!event.dataTransfer?.types.includes('Files')) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          setOver(false);
          if (!event.dataTransfer?.files.length) return;
          event.preventDefault();
          void files.add(event.dataTransfer.files);
        }}
      >
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
          onPaste={(event) => {
            if (!event.clipboardData?.files.length) return;
            event.preventDefault();
            void files.add(event.clipboardData.files);
          }}
        />
        <ChosenFiles files={files} />
        <div class="box-foot">
          <AttachButton files={files} />
          <span class="desk">
            <kbd>@</kbd> mention
          </span>
          <span class="grow" />
          {files.chosen.length > 0 && text.trim() === '' ? (
            <span>Write a message for the files</span>
          ) : (
            props.hint && <span class="desk cut">{props.hint}</span>
          )}
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
        <span>{draftWords(text, files)}</span>
        <span class="grow" />
        {threadId === null && (
          <span>
            <kbd>Enter</kbd> sends, <kbd>Shift Enter</kbd> new line, <kbd>?</kbd> all keys
          </span>
        )}
      </div>
    </div>
  );
}

function draftWords(text: string, { chosen, areKept }: Files): string {
  if (chosen.length > 0 && !areKept)
    return 'The draft is kept on this device, but the browser refused to keep its files';
  return text === '' && chosen.length === 0 ? '' : 'Draft is kept on this device';
}
