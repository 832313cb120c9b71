import { Avatar } from '../../parts/avatar.tsx';
import { LiveCall } from '../../parts/live-call.tsx';
import { href } from '../../state/route.ts';
import type { Turn } from '../../state/turns.ts';
import { Body } from '../../text/body.tsx';
import { Provider } from './message.tsx';

/** What an agent writes and calls at this moment, in the place where its message will be. It only grows. */
export function LiveRow({ turn }: { readonly turn: Turn }) {
  const { agent, runId } = turn;
  if (!isHeard(turn)) return null;
  const text = turn.text.value;
  return (
    <article class="msg is-live" aria-label={`${agent}, writing now`}>
      <Avatar handle={agent} person={false} />
      <div class="grow">
        <div class="by">
          <b>{agent}</b>
          <Provider handle={agent} />
          <span class="tag run">writing now</span>
          <a class="small" href={href('runs', runId)}>
            Run
          </a>
        </div>
        {text !== '' && <Body text={text} isGrowing />}
        <LiveCall turn={turn} />
      </div>
    </article>
  );
}

/** Whether there is something to show of a turn: before that, it "works on this". */
export function isHeard({ text, step }: Turn): boolean {
  return text.value !== '' || step.value.call !== null;
}
