import { useEffect, useState } from 'preact/hooks';
import { Empty } from '../../parts/empty.tsx';
import { plural } from '../../parts/numbers.ts';
import { PageBar } from '../../parts/page-bar.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showWait } from '../../parts/time.ts';
import { agentOrder } from '../../state/agents.ts';
import { now } from '../../state/clock.ts';
import { addShortcuts } from '../../state/keys.ts';
import { type Need, needs, putOff, snooze } from '../../state/needs.ts';
import { go, href, route } from '../../state/route.ts';
import { Decided } from './decided.tsx';
import { NeedDetail } from './need-detail.tsx';
import { markOf, titleOf, whatOf } from './need-words.ts';

const HOUR = 60 * 60_000;

/** What only this person can move: the queue on the left, one of it on the right. */
export function NeedsMe() {
  const [tab, setTab] = useState<'open' | 'put-off' | 'decided'>('open');
  const list = tab === 'put-off' ? putOff.value : needs.value;
  const [, wanted] = route.value;
  const chosen = list.find(({ id }) => id === wanted) ?? (wide() ? list[0] : undefined);
  useEffect(() => {
    const at = chosen ? list.indexOf(chosen) : -1;
    const move = (step: number): void => {
      const next = list[Math.min(Math.max(at + step, 0), list.length - 1)];
      if (next) go('needs-me', next.id);
    };
    return addShortcuts([
      { keys: 'j', what: 'Next', run: () => move(1) },
      { keys: 'k', what: 'Previous', run: () => move(-1) },
      { keys: 's', what: 'Put off for an hour', run: () => chosen && snooze(chosen.id, HOUR) },
      {
        keys: 'Enter',
        what: 'Answer',
        run: () => document.querySelector<HTMLElement>('.decide textarea, .decide .btn')?.focus(),
      },
      { keys: 'a', what: 'Approve, or resume', run: () => pressed('a') },
      { keys: 'r', what: 'Reject', run: () => pressed('r') },
      { keys: 'v', what: 'Revise the arguments', run: () => pressed('v') },
      { keys: 'o', what: 'Open the run or the agent', run: () => pressed('o') },
      ...Array.from({ length: 9 }, (_, i) => ({
        keys: String(i + 1),
        what: `Answer with option ${i + 1}`,
        run: () => pressed(String(i + 1)),
      })),
    ]);
  }, [list, chosen]);
  return (
    <>
      <PageBar
        title="Needs me"
        note={needs.value.length > 0 && <span class="tag need">{plural(needs.value.length, 'waits', 'wait')}</span>}
      >
        <div class="tabs">
          <button type="button" aria-pressed={tab === 'open'} onClick={() => setTab('open')}>
            Open
          </button>
          <button type="button" aria-pressed={tab === 'put-off'} onClick={() => setTab('put-off')}>
            Put off {putOff.value.length || ''}
          </button>
          <button type="button" aria-pressed={tab === 'decided'} onClick={() => setTab('decided')}>
            Decided
          </button>
        </div>
      </PageBar>
      {tab === 'decided' ? (
        <Decided />
      ) : list.length === 0 ? (
        <Nothing />
      ) : (
        <div class={`split list${wanted && chosen ? ' has-pane' : ''}`}>
          <div class="col queue-col">
            <div class="scroll">
              <Group title="Blocks someone" list={list.filter(({ blocks }) => blocks)} chosen={chosen} />
              <Group title="Can wait" list={list.filter(({ blocks }) => !blocks)} chosen={chosen} />
            </div>
            <div class="keys desk">
              <span>
                <kbd>j</kbd> <kbd>k</kbd> move
              </span>
              <span>
                <kbd>Enter</kbd> answer
              </span>
              <span>
                <kbd>1</kbd> to <kbd>9</kbd> option
              </span>
              <span>
                <kbd>s</kbd> put off
              </span>
              <span>
                <kbd>?</kbd> all keys
              </span>
            </div>
          </div>
          <div class="col">
            {chosen && <NeedDetail key={chosen.id} need={chosen} onPutOff={() => snooze(chosen.id, HOUR)} />}
          </div>
        </div>
      )}
    </>
  );
}

function Nothing() {
  return (
    <Empty
      icon="done"
      title="Nothing waits for you"
      acts={
        <a class="btn" href={href('team')}>
          See the team
        </a>
      }
    >
      {plural(agentOrder.value.length, 'agent')} can work without you.
    </Empty>
  );
}

function Group({
  title,
  list,
  chosen,
}: {
  readonly title: string;
  readonly list: readonly Need[];
  readonly chosen: Need | undefined;
}) {
  if (list.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 class="group">
        <span class="grow">{title}</span>
        <span>{list.length}</span>
      </h2>
      {list.map((need) => (
        <a key={need.id} class="q" href={href('needs-me', need.id)} aria-current={need === chosen ? 'true' : undefined}>
          <StateMark mark={markOf(need)} />
          <span class="title cut">{titleOf(need)}</span>
          <span class="since">{showWait(now.value - need.since)}</span>
          <span class="sub">{whatOf(need)}</span>
        </a>
      ))}
    </section>
  );
}

/** The action of what is shown that has this key. */
function pressed(key: string): void {
  document.querySelector<HTMLElement>(`.decide [data-key="${key}"]`)?.click();
}

function wide(): boolean {
  return matchMedia('(min-width: 1041px)').matches;
}
