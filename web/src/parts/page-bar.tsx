import type { ComponentChildren } from 'preact';
import { LiveMark } from '../frame/live-mark.tsx';

/** The head of a page: its name, what is said of it, and its actions. */
export function PageBar({
  above,
  title,
  note,
  children,
}: {
  /** Where the page is inside another one. */
  readonly above?: ComponentChildren;
  readonly title: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return (
    <header class="bar">
      {above && (
        <>
          {above}
          <span class="faint" aria-hidden="true">
            /
          </span>
        </>
      )}
      <h1>{title}</h1>
      {note && <span class="muted cut desk">{note}</span>}
      <span class="grow" />
      {children}
      <LiveMark class="phone" />
    </header>
  );
}
