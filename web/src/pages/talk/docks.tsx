import { useState } from 'preact/hooks';
import { type Need, needs } from '../../state/needs.ts';
import { QuestionDock } from './question-dock.tsx';
import { QueuedDock, useQueued } from './queued-dock.tsx';

/**
 * What waits in a conversation, above its composer: questions and approvals of it and of its members, then one's own
 * messages that no agent has received. One is open; the others are a count.
 */
export function Docks({ channelId, handles }: { readonly channelId: string; readonly handles: readonly string[] }) {
  const [chosen, setChosen] = useState(0);
  const queued = useQueued(channelId);
  const asked = needs.value
    .filter((need): need is Need & { kind: 'question' } => need.kind === 'question')
    .filter((need) => need.channelId === channelId || handles.includes(need.who))
    .sort((a, b) => Number(b.channelId === channelId) - Number(a.channelId === channelId));
  const count = asked.length + (queued.items.length > 0 ? 1 : 0);
  if (count === 0) return null;
  const at = chosen % count;
  const need = asked[at];
  const more = count > 1 && (
    <button type="button" class="btn quiet sm" onClick={() => setChosen(at + 1)}>
      {at + 1} of {count}
      <span class="sr">: show the next</span>
    </button>
  );
  return need ? <QuestionDock key={need.id} need={need} more={more} /> : <QueuedDock queued={queued} more={more} />;
}
