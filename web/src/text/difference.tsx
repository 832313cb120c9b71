import { diffLines } from 'diff';

/** Lines that went and came, with a sign: colour alone says nothing. */
export function Difference({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  const parts = diffLines(before, after);
  return (
    <pre class="value difference" tabIndex={0} aria-label={label}>
      {parts.map((part, i) =>
        part.value
          .replace(/\n$/, '')
          .split('\n')
          .map((line, j) => (
            <span key={`${i} ${j}`} class={part.added ? 'is-added' : part.removed ? 'is-removed' : undefined}>
              {part.added ? '+ ' : part.removed ? '- ' : '  '}
              {line}
              {'\n'}
            </span>
          )),
      )}
    </pre>
  );
}
