import { useLayoutEffect, useRef } from 'preact/hooks';
import { LiveCall } from '../../parts/live-call.tsx';
import { turns } from '../../state/turns.ts';
import { Body } from '../../text/body.tsx';

/** What the turn of this run writes and calls at this moment. Its end stays in sight. */
export function LiveTurn({ runId }: { readonly runId: string }) {
  const turn = turns.value.find((one) => one.runId === runId);
  const text = turn?.text.value ?? '';
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  if (!turn || (text === '' && turn.step.value.call === null)) return null;
  return (
    <section class="live-turn is-live" aria-label="Now">
      {text !== '' && (
        <div class="live-text" ref={box} tabIndex={0} role="region" aria-label="Text that is being written">
          <Body text={text} isGrowing />
        </div>
      )}
      <LiveCall turn={turn} />
    </section>
  );
}
