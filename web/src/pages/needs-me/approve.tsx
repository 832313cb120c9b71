import { useState } from 'preact/hooks';
import type { Question } from '../../../../src/client/browser.ts';
import { api } from '../../state/session.ts';
import { shownJson } from '../../text/shown.ts';

interface Props {
  readonly question: Question;
  readonly act: (what: () => Promise<unknown>) => void;
}

/** Permits or refuses one call, or one with other arguments; the words are optional. A second click is refused. */
export function Approve({ question, act }: Props) {
  const [text, setText] = useState('');
  const [revised, setRevised] = useState<string | null>(null);
  const words = text.trim() === '' ? {} : { text };
  const approve = (): void =>
    act(async () => {
      const args = revised === null ? {} : { arguments: readArguments(revised) };
      await api.approveQuestion(question.id, { ...words, ...args });
    });
  return (
    <>
      {revised !== null && (
        <textarea
          class="input mono decide-wide"
          rows={6}
          aria-label="Arguments that you approve"
          value={revised}
          onInput={(event) => setRevised(event.currentTarget.value)}
        />
      )}
      <textarea
        class="input decide-wide"
        rows={2}
        aria-label={`Words for ${question.agent}`}
        placeholder={`Words for ${question.agent} (optional)`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="button" class="btn main-act" data-key="a" onClick={approve}>
        {revised === null ? 'Approve once' : 'Approve these once'} <kbd>a</kbd>
      </button>
      <button
        type="button"
        class="btn danger"
        data-key="r"
        onClick={() => act(() => api.rejectQuestion(question.id, words.text))}
      >
        Reject <kbd>r</kbd>
      </button>
      {question.arguments && revised === null && (
        <button type="button" class="btn" data-key="v" onClick={() => setRevised(shownJson(question.arguments))}>
          Revise… <kbd>v</kbd>
        </button>
      )}
    </>
  );
}

function readArguments(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('Write an object in JSON.');
  return value as Record<string, unknown>;
}
