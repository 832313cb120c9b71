import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Mark, StateMark } from '../../parts/state-mark.tsx';

/** Does something, and says in the dock why it failed. */
export type Act = (what: () => Promise<unknown>) => void;

interface Props {
  readonly label: string;
  readonly mark: Mark;
  readonly isQuiet?: boolean;
  readonly title: ComponentChildren;
  readonly sub: ComponentChildren;
  /** To the right of both. */
  readonly acts: (act: Act) => ComponentChildren;
  /** Below, in full width. */
  readonly children: (act: Act) => ComponentChildren;
  /** Called after something was done. */
  readonly onDone?: () => void;
}

/** What stands above the composer: who, what exactly, how long, what it blocks, then what one can do. */
export function Dock(props: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const act: Act = (what) => {
    setProblem(null);
    what().then(
      () => props.onDone?.(),
      (error: Error) => setProblem(error.message),
    );
  };
  return (
    <section class={`dock${props.isQuiet ? ' is-quiet' : ''}`} aria-label={props.label}>
      <StateMark mark={props.mark} />
      <div class="wrap">{props.title}</div>
      <div class="sub">
        {props.sub}
        {problem && (
          <span class="bad" role="alert">
            {' '}
            {problem}
          </span>
        )}
      </div>
      <div class="acts">{props.acts(act)}</div>
      {props.children(act)}
    </section>
  );
}
