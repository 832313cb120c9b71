import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Channel, Member } from '../../../../src/client/browser.ts';
import { LiveMark } from '../../frame/live-mark.tsx';
import { Empty, Failure, Waiting } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loading } from '../../parts/loading.tsx';
import { plural } from '../../parts/numbers.ts';
import { showClock } from '../../parts/time.ts';
import { channels, nameOf, titleOfChannel } from '../../state/channels.ts';
import type { ChosenFile } from '../../state/draft-files.ts';
import { press } from '../../state/keys.ts';
import { onEvent } from '../../state/live.ts';
import { useLoad } from '../../state/load.ts';
import { openRoom, putMessage, type Room, readNewest, readOlder, typing } from '../../state/rooms.ts';
import { href } from '../../state/route.ts';
import { api, me } from '../../state/session.ts';
import { turns } from '../../state/turns.ts';
import { textReady } from '../../text/body.tsx';
import { Composer } from './composer.tsx';
import { Docks } from './docks.tsx';
import { isHeard } from './live-row.tsx';
import { MessageRow } from './message.tsx';
import { MessageList } from './message-list.tsx';

type Send = (text: string, key: string, files: readonly ChosenFile[], parent?: string) => Promise<void>;

/** A channel or a direct message, with its thread beside it. */
export function Conversation({ id, thread }: { readonly id: string; readonly thread: string | null }) {
  const room = useMemo(() => openRoom(id), [id]);
  const channel = channels.value.get(id);
  const members = useMembers(id);
  const handles = members.map(({ handle }) => handle);
  if (!channel) return null;
  const name = `${channel.kind === 'dm' ? '@ ' : '# '}${nameOf(channel, me.value)}`;
  const send: Send = async (text, key, files, parentMessageId) => {
    const attachments = files.map(({ name, data }) => ({ name, data }));
    const { messageId } = await api.postMessage(
      id,
      { text, ...(parentMessageId && { parentMessageId }), ...(attachments.length > 0 && { attachments }) },
      { idempotencyKey: key },
    );
    room.sent.value = messageId;
    putMessage(await api.getMessage(messageId));
  };
  return (
    <>
      <header class="bar">
        <a class="btn quiet square phone" href={href('talk')} aria-label="Back to the channels">
          <Icon name="back" />
        </a>
        <h1>{name}</h1>
        <span class="muted cut desk">{channel.topic}</span>
        <span class="grow" />
        <span class="muted nowrap desk">{plural(members.length, 'member')}</span>
        <button type="button" class="btn search-btn" onClick={() => press('mod+f')}>
          <Icon name="search" />
          <span class="search-word">Search</span>
          <span class="sr">all messages</span>
          <kbd class="desk">Ctrl F</kbd>
        </button>
        <LiveMark class="phone" />
      </header>
      <div class={`split${thread ? ' has-pane' : ' alone'}`}>
        <div class="col">
          <Log room={room} channel={channel} open={thread} />
          <Typing id={id} />
          <Composer
            channelId={id}
            threadId={null}
            label={`Message ${titleOfChannel(id)}`}
            handles={handles}
            dock={<Docks channelId={id} handles={handles} />}
            hint={hintOf(handles)}
            send={(text, key, files) => send(text, key, files)}
          />
        </div>
        {thread && <ThreadPane key={thread} room={room} id={thread} handles={handles} send={send} />}
      </div>
    </>
  );
}

function Log({
  room,
  channel,
  open,
}: {
  readonly room: Room;
  readonly channel: Channel;
  readonly open: string | null;
}) {
  const unread = channel.unread;
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    let gone = false;
    const prepare = async (): Promise<void> => {
      await textReady;
      while (!room.loaded.peek() && room.problem.peek() === null)
        await new Promise((resolve) => setTimeout(resolve, 15));
      // Opens at the first unread message, or at the thread that is named: as far back as that, but not for ever.
      const isShort = (): boolean =>
        room.rows.peek().length < unread ||
        (open !== null && !room.rows.peek().some(({ messageId }) => messageId === open));
      for (let pages = 0; pages < 10 && isShort() && room.cursor.peek() !== null; pages += 1) await readOlder(room);
      if (!gone) setReady(true);
    };
    void prepare().catch(() => setReady(true));
    return () => {
      gone = true;
    };
  }, [room]);
  if (room.problem.value !== null && !room.loaded.value) {
    return <Failure error={room.problem.value} retry={() => void readNewest(room)} />;
  }
  return isReady && room.loaded.value ? (
    <MessageList room={room} unread={unread} open={open} />
  ) : (
    <div class="log-frame">
      <Waiting />
    </div>
  );
}

/** Who reads a message only later, because it runs now. */
function hintOf(handles: readonly string[]): string | undefined {
  const running = turns.value.map(({ agent }) => agent).filter((agent) => handles.includes(agent));
  if (running.length === 0) return undefined;
  return `${running.slice(0, 2).join(', ')}${running.length > 2 ? ` and ${running.length - 2} more` : ''} ${running.length === 1 ? 'runs' : 'run'} now`;
}

function Typing({ id }: { readonly id: string }) {
  const shown = turns.value.filter((turn) => turn.channelId === id && isHeard(turn)).map(({ agent }) => agent);
  const started = turns.value.filter(({ channelId }) => channelId === id).map(({ agent }) => agent);
  const who = [...new Set([...(typing.value.get(id) ?? []), ...started])].filter((agent) => !shown.includes(agent));
  return (
    <p class="typing small muted" role="status">
      {who.length > 0 &&
        `${who.slice(0, 3).join(', ')}${who.length > 3 ? ` and ${who.length - 3} more` : ''} ${who.length === 1 ? 'works' : 'work'} on this`}
    </p>
  );
}

function ThreadPane(props: {
  readonly room: Room;
  readonly id: string;
  readonly handles: readonly string[];
  readonly send: Send;
}) {
  const { room, id } = props;
  const known = room.rows.value.find(({ messageId }) => messageId === id);
  // A thread that is older than what is loaded is read alone.
  const old = useLoad(
    `thread ${id} ${known === undefined}`,
    async () =>
      known ? [] : [...(await api.listChannelMessages(room.id, { thread: id, limit: 100 })).items].reverse(),
    (event) => !known && event.type === 'message_created' && event.data.message.parentMessageId === id,
  );
  const root = known ?? old.value?.find(({ messageId }) => messageId === id);
  const replies = known
    ? (room.replies.value.get(id) ?? [])
    : (old.value ?? []).filter(({ messageId }) => messageId !== id);
  return (
    <aside class="pane" aria-label="Thread">
      <div class="pane-head">
        <h2>Thread</h2>
        <span class="faint small cut grow">
          {root && `${root.from === me.value ? 'you' : root.from}, ${showClock(root.createdAt)}`}
        </span>
        <a class="btn quiet square" href={href('talk', room.id)} aria-label="Close the thread">
          <Icon name="close" />
        </a>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Replies">
        {root ? (
          <MessageRow message={root} thread={null} />
        ) : (
          <Loading of={old}>
            {() => (
              <Empty icon="talk" title="This message does not exist">
                It was deleted, or it is in another channel.
              </Empty>
            )}
          </Loading>
        )}
        <div class="day">
          <span>{plural(replies.length, 'reply', 'replies')}</span>
        </div>
        {replies.map((reply) => (
          <MessageRow key={reply.messageId} message={reply} thread={null} />
        ))}
      </div>
      <Composer
        channelId={room.id}
        threadId={id}
        label="Reply"
        handles={props.handles}
        send={(text, key, files) => props.send(text, key, files, id)}
      />
    </aside>
  );
}

function useMembers(id: string): readonly Member[] {
  const [members, setMembers] = useState<readonly Member[]>([]);
  useEffect(() => {
    const read = (): void => {
      api.listMembers(id).then(
        ({ items }) => setMembers(items),
        () => {},
      );
    };
    read();
    return onEvent((event) => {
      if ((event.type === 'member_joined' || event.type === 'member_left') && event.data.channelId === id) read();
    });
  }, [id]);
  return members;
}
