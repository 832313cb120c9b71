import { StateMark } from '../parts/state-mark.tsx';
import { showSecond } from '../parts/time.ts';
import { now } from '../state/clock.ts';
import { connection, tryNow } from '../state/live.ts';

/** Lost for this long, the banner says so. */
const PATIENCE_MS = 5000;

export function LiveMark({ class: extra = '' }: { readonly class?: string }) {
  const at = connection.value;
  if (at === null) return <span class={`live is-lost ${extra}`}>Connecting</span>;
  if (at.state === 'live') {
    return (
      <span class={`live ${extra}`} role="status">
        <i />
        Live
      </span>
    );
  }
  const seconds = Math.max(0, Math.round((now.value - at.since) / 1000));
  return (
    <span class={`live is-lost ${extra}`} role="status">
      <i />
      Reconnecting<span aria-hidden="true">, {seconds} s</span>
    </span>
  );
}

export function LostBanner() {
  const at = connection.value;
  if (at?.state !== 'lost' || now.value - at.since < PATIENCE_MS) return null;
  return (
    <div class="banner" role="alert">
      <StateMark mark="wait" />
      <span class="grow">
        <b>Not live since {showSecond(at.since)}.</b> What you see may be old. The page reads again when the daemon
        answers.
      </span>
      <button type="button" class="btn sm" onClick={tryNow}>
        Try now
      </button>
    </div>
  );
}
