import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Message, SubstratEvent } from '../../../../src/client/browser.ts';
import { plural } from '../../parts/numbers.ts';
import { now } from '../../state/clock.ts';
import { useLoad } from '../../state/load.ts';
import { api, me } from '../../state/session.ts';
import { type Turn, turns } from '../../state/turns.ts';
import { type Act, Dock } from './dock.tsx';
import { Editor } from './message.tsx';

type Queued = Message & { readonly to: readonly string[] };

export interface QueuedMessages {
  readonly items: readonly Queued[];
  readonly reload: () => void;
}

/** An agent that is free takes a message at once: one that waits no longer than this is not worth a word. */
const PATIENCE_MS = 1500;

/** One's own messages in a conversation that an agent has not received. */
export function useQueued(channelId: string): QueuedMessages {
  const seen = useRef(new Map<string, number>());
  const count = useRef(0);
  const { value, reload } = useLoad(
    `queued ${channelId}`,
    async () => (await api.listQueued(channelId)).items as readonly Queued[],
    (event) => mayQueue(event, channelId) || (count.current > 0 && mayTake(event)),
  );
  const all = value ?? [];
  count.current = all.length;
  for (const { messageId, createdAt } of all) {
    if (!seen.current.has(messageId)) seen.current.set(messageId, Math.min(Date.now(), Date.parse(createdAt)));
  }
  const items = all.filter(({ messageId }) => now.value - (seen.current.get(messageId) ?? 0) > PATIENCE_MS);
  return { items, reload };
}

export function QueuedDock({ queued, more }: { readonly queued: QueuedMessages; readonly more: ComponentChildren }) {
  const { items, reload } = queued;
  const to = [...new Set(items.flatMap((item) => item.to))];
  const running = turns.value.filter(({ agent }) => to.includes(agent));
  return (
    <Dock
      label="Messages that wait"
      mark="queue"
      isQuiet
      title={
        <>
          {plural(items.length, 'message waits', 'messages wait')} for <b>{to.join(', ')}</b>
        </>
      }
      sub={
        running.length > 0
          ? 'Read when the run in progress ends. Send now cancels that run.'
          : 'Not read yet. You can still change it.'
      }
      acts={(act) => (
        <>
          {more}
          {running.length > 0 && (
            <button type="button" class="btn sm danger" onClick={() => act(() => sendNow(items, running))}>
              Send now
            </button>
          )}
        </>
      )}
      onDone={reload}
    >
      {(act) => (
        <ul class="dock-wide lines">
          {items.map((item) => (
            <Row key={item.messageId} item={item} act={act} reload={reload} />
          ))}
        </ul>
      )}
    </Dock>
  );
}

/** Ends the runs that hold the messages up. Which ones is asked after the runs are known: a run that took one goes on. */
async function sendNow(items: readonly Queued[], running: readonly Turn[]): Promise<void> {
  const left = items[0] ? (await api.listQueued(items[0].channelId)).items : [];
  const still = left.filter(({ messageId }) => items.some((item) => item.messageId === messageId));
  const to = new Set(still.flatMap((item) => item.to));
  await Promise.all(running.filter(({ agent }) => to.has(agent)).map(({ runId }) => api.cancelRun(runId)));
}

function Row({ item, act, reload }: { readonly item: Queued; readonly act: Act; readonly reload: () => void }) {
  const [editing, setEditing] = useState(false);
  if (editing) {
    const done = (): void => {
      setEditing(false);
      reload();
    };
    return (
      <li>
        <Editor message={item} onDone={done} />
      </li>
    );
  }
  return (
    <li>
      <span class="cut grow">{item.text}</span>
      <button type="button" class="btn quiet sm" onClick={() => setEditing(true)}>
        Edit
      </button>
      <button type="button" class="btn quiet sm" onClick={() => act(() => api.deleteMessage(item.messageId))}>
        Remove
      </button>
    </li>
  );
}

function mayQueue(event: SubstratEvent, channelId: string): boolean {
  return (
    event.type === 'message_created' &&
    event.data.message.channelId === channelId &&
    event.data.message.from === me.peek()
  );
}

function mayTake({ type }: SubstratEvent): boolean {
  return /^(delivery_|agent_typing|agent_done|message_(updated|deleted)|run_(started|ended))/.test(type);
}
