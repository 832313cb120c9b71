import { StateMark } from '../../parts/state-mark.tsx';
import { showWait } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { needs } from '../../state/needs.ts';
import { href } from '../../state/route.ts';

/** The oldest question of this conversation that waits for the reader; the others are a count. */
export function QuestionDock({ channelId }: { readonly channelId: string }) {
  const here = needs.value.filter((need) => need.kind === 'question' && need.channelId === channelId);
  const [first] = here;
  if (!first) return null;
  return (
    <section class="dock" aria-label="Question that waits">
      <StateMark mark="need" />
      <div class="wrap">
        <b>{first.who}</b> waits for your answer
      </div>
      <div class="sub">
        Waits {showWait(now.value - first.since)}. {here.length > 1 && `${here.length - 1} more here.`}
      </div>
      <div class="acts">
        <a class="btn sm" href={href('needs-me', first.id)}>
          Answer
        </a>
      </div>
    </section>
  );
}
