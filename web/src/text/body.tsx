import { signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { showSize } from '../parts/numbers.ts';
import { handlesKnown } from '../state/people.ts';
import { me } from '../state/session.ts';
import type { renderMarkdown } from './markdown.ts';
import { shown as readable } from './shown.ts';

/** Sanitiser, parser and highlighter come with the first message. */
const renderer = signal<typeof renderMarkdown | null>(null);
export const textReady = import('./markdown.ts').then((module) => {
  renderer.value = module.renderMarkdown;
});

/** Texts that were rendered lately: scrolling back and forth renders none twice. */
const rendered = new Map<string, DocumentFragment>();
const KEPT = 500;

function renderOnce(render: typeof renderMarkdown, text: string, known: ReadonlySet<string>, keeps: boolean): Node {
  const self = me.peek();
  const draw = () => render(text, (handle) => (handle === self ? 'me' : known.has(handle) ? 'other' : null));
  if (!keeps) return draw();
  const key = `${known.size} ${self} ${text}`;
  const before = rendered.get(key);
  rendered.delete(key);
  const made = before ?? draw();
  rendered.set(key, made);
  const oldest = rendered.keys().next();
  if (rendered.size > KEPT && !oldest.done) rendered.delete(oldest.value);
  return made.cloneNode(true);
}

/** A longer text is cut; the rest is shown as it is, on demand. */
const MOST = 16_000;

/** The text of a message: Markdown of anybody, who may be hostile. One that is still being written is not kept. */
export function Body({ text, isGrowing = false }: { readonly text: string; readonly isGrowing?: boolean }) {
  const ref = useRef<HTMLDivElement>(null);
  const [whole, setWhole] = useState(false);
  const render = renderer.value;
  const isLong = text.length > MOST;
  const shown = isLong ? text.slice(0, MOST) : text;
  const known = handlesKnown.value;
  useLayoutEffect(() => {
    if (!render) return;
    ref.current?.replaceChildren(renderOnce(render, shown, known, !isGrowing));
  }, [render, shown, known]);
  return (
    <>
      <div class="body" dir="auto" ref={ref}>
        {render ? null : shown}
      </div>
      {isLong && !whole && (
        <button type="button" class="btn sm" onClick={() => setWhole(true)}>
          Show all, {showSize(text.length)}
        </button>
      )}
      {isLong && whole && (
        <pre class="long" tabIndex={0} aria-label="The whole text">
          {readable(text.slice(MOST))}
        </pre>
      )}
    </>
  );
}
