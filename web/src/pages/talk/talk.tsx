import { useEffect } from 'preact/hooks';
import { LiveMark } from '../../frame/live-mark.tsx';
import { Empty, Waiting } from '../../parts/empty.tsx';
import { channels, channelsLoaded } from '../../state/channels.ts';
import { go, route } from '../../state/route.ts';
import { remembered } from '../../state/storage.ts';
import { Conversation } from './conversation.tsx';

const last = remembered('channel');

/** What was said since one looked: the channel that is named, or the one that was open last. */
export function Talk() {
  const [, id, thread] = route.value;
  const isThere = id !== undefined && channels.value.has(id);
  useEffect(() => {
    if (id !== undefined) {
      last.set(id);
      return;
    }
    // The address may be ahead of what is shown: whoever asked for a place gets that place.
    if (!/^#?(\/talk\/?)?$/.test(location.hash)) return;
    const before = last.get();
    const unread = [...channels.value.values()].find((channel) => channel.unread > 0)?.id;
    const next =
      before !== null && channels.value.has(before) ? before : (unread ?? channels.value.keys().next().value);
    // The address of Talk alone is not worth a step back.
    if (next !== undefined && matchMedia('(min-width: 721px)').matches) {
      history.replaceState(null, '', `#/talk/${encodeURIComponent(next)}`);
      dispatchEvent(new HashChangeEvent('hashchange'));
    }
  }, [id, channelsLoaded.value]);
  if (isThere) return <Conversation key={id} id={id} thread={thread ?? null} />;
  return (
    <>
      <header class="bar">
        <h1>Talk</h1>
        <span class="grow" />
        <LiveMark class="phone" />
      </header>
      {!channelsLoaded.value ? <Waiting /> : id === undefined ? <Choose /> : <NotThere id={id} />}
    </>
  );
}

function Choose() {
  const all = [...channels.value.values()];
  if (all.length === 0) {
    return (
      <Empty icon="talk" title="There is no channel yet">
        Create an agent and write to it, or make a channel with the plus in the sidebar.
      </Empty>
    );
  }
  return (
    <nav class="scroll rooms" aria-label="Channels">
      {all.map((channel) => (
        <button key={channel.id} type="button" class="room" onClick={() => go('talk', channel.id)}>
          <span class="hash" aria-hidden="true">
            {channel.kind === 'dm' ? '@' : '#'}
          </span>
          <span class="cut">{channel.id}</span>
          {channel.unread > 0 && <span class="count">{channel.unread > 99 ? '99+' : channel.unread}</span>}
        </button>
      ))}
    </nav>
  );
}

function NotThere({ id }: { readonly id: string }) {
  return (
    <Empty icon="talk" title={`You see no channel ${id}`}>
      It does not exist, or it is private and you are not a member.
    </Empty>
  );
}
