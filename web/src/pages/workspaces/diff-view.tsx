import { useState } from 'preact/hooks';
import { Code, languageOf } from '../../text/code.tsx';
import { type Comment, type Comments, isSameLine } from './comments.ts';
import type { DiffLine, FileDiff } from './parse-diff.ts';

/** So many lines are drawn at first, and with each click. */
const PAGE = 800;
const SIGNS = { added: '+', removed: '−', same: ' ', hunk: '' } as const;

/** The changed lines of one file. The number of a line opens a comment on it. */
export function DiffView({ file, comments }: { readonly file: FileDiff; readonly comments: Comments }) {
  const [shown, setShown] = useState(PAGE);
  const [open, setOpen] = useState<number | null>(null);
  const language = languageOf(file.path);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Changes of ${file.path}`}>
      {file.note && <p class="more-row muted">{file.note}</p>}
      <table class="diff">
        <tbody>
          {file.lines.slice(0, shown).map((line, i) => (
            <Line
              key={i}
              path={file.path}
              line={line}
              language={language}
              comments={comments}
              isOpen={open === i}
              onOpen={(next) => setOpen(next ? i : null)}
            />
          ))}
        </tbody>
      </table>
      {file.lines.length > shown && (
        <div class="more-row">
          <button type="button" class="btn" onClick={() => setShown(shown + PAGE)}>
            Show more, {file.lines.length - shown} lines left
          </button>
        </div>
      )}
    </div>
  );
}

interface LineProps {
  readonly path: string;
  readonly line: DiffLine;
  readonly language: string;
  readonly comments: Comments;
  readonly isOpen: boolean;
  readonly onOpen: (open: boolean) => void;
}

function Line({ path, line, language, comments, isOpen, onOpen }: LineProps) {
  if (line.kind === 'hunk') {
    return (
      <tr class="d-hunk">
        <td colSpan={3}>{line.text === '' ? '⋯' : `⋯ ${line.text}`}</td>
      </tr>
    );
  }
  const removed = line.kind === 'removed';
  const at = { path, line: (removed ? line.before : line.after) ?? 0, removed };
  const said = comments.all.find((one) => isSameLine(one, at));
  return (
    <>
      <tr class={`d-${line.kind}`}>
        <td class="d-n">
          <button
            type="button"
            aria-label={`Comment on ${removed ? 'removed ' : ''}line ${at.line}`}
            aria-expanded={isOpen}
            onClick={() => onOpen(!isOpen)}
          >
            {at.line}
          </button>
        </td>
        <td class="d-sign" aria-hidden="true">
          {SIGNS[line.kind]}
        </td>
        <td class="d-code">
          <Code text={line.text} language={language} />
        </td>
      </tr>
      {(isOpen || said) && (
        <tr class="d-said">
          <td colSpan={2} />
          <td>
            {isOpen ? (
              <Write
                comment={said ?? { ...at, code: line.text, text: '' }}
                onDone={(comment) => {
                  if (comment) comments.put(comment);
                  onOpen(false);
                }}
              />
            ) : (
              <p class="wrap">{said?.text}</p>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

function Write({ comment, onDone }: { readonly comment: Comment; readonly onDone: (comment: Comment | null) => void }) {
  const [text, setText] = useState(comment.text);
  return (
    <div class="editor">
      <textarea
        class="input"
        rows={2}
        aria-label={`Comment on line ${comment.line}`}
        value={text}
        ref={(field) => field?.focus()}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onDone(null);
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          onDone({ ...comment, text });
        }}
      />
      <div class="acts">
        <button type="button" class="btn sm main-act" onClick={() => onDone({ ...comment, text })}>
          {text.trim() === '' && comment.text !== '' ? 'Remove' : 'Keep'}
        </button>
        <button type="button" class="btn sm" onClick={() => onDone(null)}>
          Cancel
        </button>
      </div>
    </div>
  );
}
