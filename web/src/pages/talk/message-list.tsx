import { useComputed, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Message } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { isSameDay, showClock, showDay } from '../../parts/time.ts';
import { markRead, reading } from '../../state/channels.ts';
import { catchUp, type Room, readOlder, readOn } from '../../state/rooms.ts';
import { me } from '../../state/session.ts';
import { turns } from '../../state/turns.ts';
import { LiveRow } from './live-row.tsx';
import { MessageRow } from './message.tsx';
import { grow, type Span, settle, slide } from './moving-window.ts';

/** This near to an end of what is drawn, more is drawn. */
const NEAR = 1500;
/** This near to the end, a reader follows it. */
const AT_END = 48;
/** So many messages are drawn on each side of one that is searched for. */
const SHOWN = 100;

interface Props {
  readonly room: Room;
  readonly unread: number;
  readonly open: string | null;
}

/**
 * The messages as real elements, of which at most 300 exist: find-in-page, selection and screen readers work on them.
 * A reader who scrolled up is never moved: whatever is drawn above, the first visible message stays where it is.
 */
export function MessageList({ room, unread, open }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const top = room.top.value;
  const span = useSignal<Span>(settle(top.length, unread));
  const isAtEnd = room.follows;
  useState(() => {
    isAtEnd.current = unread === 0;
  });
  const behind = useSignal(0);
  const anchor = useRef<{ readonly id: string; readonly at: number } | null>(null);
  const before = useRef<readonly Message[]>(top);
  const first = useRef(firstUnread(top, unread));

  if (before.current !== top) {
    const added = countAbove(before.current, top);
    const news = top.length - before.current.length - added;
    const newest = top.at(-1)?.messageId;
    const mine = newest === room.sent.peek() && newest !== before.current.at(-1)?.messageId;
    if (mine) isAtEnd.current = true;
    anchor.current = isAtEnd.current ? null : holdPlace(box.current);
    span.value = grow(span.peek(), { length: top.length, added, follow: isAtEnd.current });
    if (!isAtEnd.current && news > 0) behind.value += news;
    before.current = top;
  }

  const shown = useComputed(() => room.top.value.slice(span.value.start, span.value.end));

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    else if (anchor.current) keepPlace(element, anchor.current);
    anchor.current = null;
  });
  useLayoutEffect(() => {
    const line = box.current?.querySelector('.day.is-new');
    if (line) line.scrollIntoView({ block: 'center' });
    onScroll();
  }, []);
  useLayoutEffect(() => {
    if (open !== null) showRow(open);
  }, [open]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const inner = element.firstElementChild;
    const watch = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    });
    if (inner) watch.observe(inner);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useReadMark(room.id, isAtEnd, top.length);
  // Nobody is further up any more.
  useEffect(() => () => void catchUp(room), []);

  const onScroll = (): void => {
    const element = box.current;
    if (!element) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    const { length } = room.top.peek();
    const isEnd = below < AT_END && span.peek().end === length;
    isAtEnd.current = isEnd && room.ahead.peek() === 0;
    if (isEnd && !isAtEnd.current) void readOn(room);
    if (isAtEnd.current && behind.peek() > 0) behind.value = 0;
    if (isAtEnd.current) see(room.id);
    const next = slide(span.peek(), { length, above: element.scrollTop < NEAR, below: below < NEAR });
    if (next !== span.peek()) {
      if (!isAtEnd.current) anchor.current = holdPlace(element);
      span.value = next;
      // There may be more to draw although nobody scrolls on.
      requestAnimationFrame(onScroll);
    }
    if (element.scrollTop < NEAR && span.peek().start === 0) void readOlder(room).catch(() => {});
  };
  // The thread beside it may show the same message.
  const rowOf = (id: string): Element | null => box.current?.querySelector(`[id="m-${CSS.escape(id)}"]`) ?? null;
  /** Brings a message into sight that is not drawn: one that was searched for. */
  const showRow = (id: string): void => {
    const at = room.top.peek().findIndex(({ messageId }) => messageId === id);
    if (at < 0 || rowOf(id)) return;
    isAtEnd.current = false;
    span.value = { start: Math.max(0, at - SHOWN), end: Math.min(room.top.peek().length, at + SHOWN) };
    requestAnimationFrame(() => rowOf(id)?.scrollIntoView({ block: 'center' }));
  };
  const toEnd = async (): Promise<void> => {
    await catchUp(room);
    if (room.ahead.peek() > 0) return;
    isAtEnd.current = true;
    behind.value = 0;
    span.value = settle(room.top.peek().length, 0);
    const element = box.current;
    if (element) requestAnimationFrame(() => (element.scrollTop = element.scrollHeight));
    see(room.id);
  };

  const rows = shown.value;
  const news = behind.value + room.ahead.value;
  const draw = useDrawn();
  return (
    <div class="log-frame">
      <div
        class="scroll log"
        role="log"
        aria-live="off"
        aria-label={`Messages in ${room.id}`}
        tabIndex={0}
        ref={box}
        onScroll={onScroll}
      >
        <div class="log-inner">
          {room.cursor.value === null && span.value.start === 0 && (
            <p class="log-start faint small">This is the beginning of {room.id}.</p>
          )}
          {rows.flatMap((message, i) => {
            const previous = rows[i - 1];
            const newDay = !previous || !isSameDay(new Date(previous.createdAt), new Date(message.createdAt));
            return [
              newDay && <Line key={`day ${message.messageId}`} text={showDay(message.createdAt)} />,
              message.messageId === first.current?.id && (
                <Line
                  key="new"
                  text={first.current.since ? `New since ${showClock(first.current.since)}` : 'New'}
                  isNew
                />
              ),
              draw(message, room.replies.value.get(message.messageId) ?? NO_REPLIES, open === message.messageId),
            ];
          })}
          {span.value.end === top.length &&
            room.ahead.value === 0 &&
            turns.value
              .filter(({ channelId }) => channelId === room.id)
              .map((turn) => <LiveRow key={turn.runId} turn={turn} />)}
          {rows.length === 0 && (
            <Empty icon="talk" title={`Nobody has said anything in ${room.id}`}>
              Write to an agent with @ and its name. It wakes and answers here.
            </Empty>
          )}
        </div>
      </div>
      {news > 0 && (
        <button type="button" class="btn sm main-act to-end" onClick={() => void toEnd()}>
          {Number.isFinite(news) ? `${news} new` : 'Newer messages'}
        </button>
      )}
    </div>
  );
}

interface Drawn {
  readonly message: Message;
  readonly replies: readonly Message[];
  readonly isOpen: boolean;
  readonly row: VNode;
}

const NO_REPLIES: readonly Message[] = [];

/** A message that has not changed keeps its row as it is: one event redraws only what it changes. */
function useDrawn(): (message: Message, replies: readonly Message[], isOpen: boolean) => VNode {
  const drawn = useRef(new Map<Message, Drawn>());
  const previous = drawn.current;
  // Only those that are drawn now: the row of a message that left the window would keep its elements in memory.
  const current = new Map<Message, Drawn>();
  drawn.current = current;
  return (message, replies, isOpen) => {
    const before = previous.get(message);
    const isSameRow = before?.isOpen === isOpen && isSame(before.replies, replies);
    const row = isSameRow ? (
      before.row
    ) : (
      <MessageRow key={message.messageId} message={message} thread={{ replies, isOpen }} />
    );
    current.set(message, { message, replies, isOpen, row });
    return row;
  };
}

function isSame(a: readonly Message[], b: readonly Message[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}

function Line({ text, isNew }: { readonly text: string; readonly isNew?: boolean }) {
  return (
    <div class={`day${isNew ? ' is-new' : ''}`}>
      <span>{text}</span>
    </div>
  );
}

/** What is on the screen of somebody who looks is read. */
function useReadMark(id: string, isAtEnd: { readonly current: boolean }, length: number): void {
  useEffect(() => {
    const look = (): void => {
      if (isAtEnd.current) see(id);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      if (reading.peek() === id) reading.value = null;
    };
  }, [id, length, isAtEnd]);
}

function see(id: string): void {
  if (document.visibilityState !== 'visible') return;
  reading.value = id;
  void markRead(id).catch(() => {});
}

function firstUnread(top: readonly Message[], unread: number): { id: string; since: string | null } | null {
  if (unread === 0) return null;
  let left = unread;
  for (let i = top.length - 1; i >= 0; i -= 1) {
    const row = top[i];
    if (row && row.from !== me.peek() && !row.deletedAt) left -= 1;
    if (left === 0 && row) return { id: row.messageId, since: top[i - 1]?.createdAt ?? null };
  }
  return null;
}

function countAbove(before: readonly Message[], after: readonly Message[]): number {
  const oldest = before[0]?.messageId;
  return oldest === undefined
    ? 0
    : Math.max(
        0,
        after.findIndex(({ messageId }) => messageId === oldest),
      );
}

/** The first message that can be seen, and where it is. */
function holdPlace(box: HTMLElement | null): { id: string; at: number } | null {
  if (!box) return null;
  const edge = box.getBoundingClientRect().top;
  for (const row of box.querySelectorAll('article')) {
    const { top, bottom } = row.getBoundingClientRect();
    if (bottom > edge) return { id: row.id, at: top };
  }
  return null;
}

function keepPlace(box: HTMLElement, { id, at }: { readonly id: string; readonly at: number }): void {
  const row = document.getElementById(id);
  if (row) box.scrollTop += row.getBoundingClientRect().top - at;
}
