import { useState } from 'preact/hooks';
import { showSize } from '../../parts/numbers.ts';

const MOST = 4000;

/** A huge value is cut, with its true size. */
export function Value({
  name,
  text,
  isInner = false,
}: {
  readonly name: string;
  readonly text: string;
  /** Its name stands above it already. */
  readonly isInner?: boolean;
}) {
  const [whole, setWhole] = useState(false);
  const isCut = !whole && text.length > MOST;
  return (
    <section>
      {!isInner && (
        <h3>
          <span class="grow">{name}</span>
          <span>{showSize(text.length)}</span>
        </h3>
      )}
      <pre class="value" tabIndex={0} aria-label={name}>
        {text === '' ? 'nothing' : isCut ? text.slice(0, MOST) : text}
      </pre>
      {isCut && (
        <button type="button" class="btn sm" onClick={() => setWhole(true)}>
          Load all, {showSize(text.length)}
        </button>
      )}
    </section>
  );
}
