import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';
import { StateMark } from './state-mark.tsx';

/** One mark, one sentence of what is so, one of what to do, one button. */
export function Empty(props: {
  readonly icon: IconName | 'done';
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly acts?: ComponentChildren;
}) {
  return (
    <div class="empty">
      {props.icon === 'done' ? <StateMark mark="done" /> : <Icon name={props.icon} />}
      <h2>{props.title}</h2>
      {props.children && <p>{props.children}</p>}
      {props.acts && <div class="acts">{props.acts}</div>}
    </div>
  );
}

/** What failed, what is safe, what to do; in the place that failed. */
export function Failure({ error, retry }: { readonly error: string; readonly retry: () => void }) {
  return (
    <Empty
      icon="plug"
      title="This could not be read"
      acts={
        <>
          <button type="button" class="btn main-act" onClick={retry}>
            Try again
          </button>
          <button type="button" class="btn" onClick={() => void navigator.clipboard.writeText(error)}>
            Copy details
          </button>
        </>
      }
    >
      {error} Nothing you sent is lost.
    </Empty>
  );
}

/** Grey lines in the place of what is being read. */
export function Waiting() {
  return (
    <div class="grey-lines" role="status" aria-label="Loading">
      <i />
      <b />
      <b />
      <i />
      <b />
    </div>
  );
}
