import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

interface Props {
  readonly label: string;
  readonly title: ComponentChildren;
  /** To the right of the title. */
  readonly head?: ComponentChildren;
  /** Beside the way back. */
  readonly tail?: ComponentChildren;
  /** Where closing leads, and its name. */
  readonly back: string;
  readonly close: string;
  /** The name of what scrolls. */
  readonly region: string;
  readonly children: ComponentChildren;
}

/** The pane beside a list: what was opened, and a way back. */
export function Pane({ label, title, head, tail, back, close, region, children }: Props) {
  return (
    <aside class="pane" aria-label={label}>
      <div class="pane-head">
        <h2 class="cut">{title}</h2>
        {head}
        <span class="grow" />
        {tail}
        <a class="btn quiet square" href={back} aria-label={close}>
          <Icon name="close" />
        </a>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={region}>
        {children}
      </div>
    </aside>
  );
}
