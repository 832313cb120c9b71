import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Message, SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';
import { route } from './route.ts';
import { api } from './session.ts';

/** Messages of a channel, oldest first and without a gap: up to the newest, or up to those that are counted in `ahead`. */
export interface Room {
  readonly id: string;
  readonly rows: Signal<readonly Message[]>;
  /** Where to read on into the past; null if all is there. */
  readonly cursor: Signal<string | null>;
  readonly loaded: Signal<boolean>;
  readonly problem: Signal<string | null>;
  /** The last message that was sent from this page: it shows, wherever the reader is. */
  readonly sent: Signal<string | null>;
  /** Newer messages that are not kept, because the reader is further up; Infinity if nobody counted them. */
  readonly ahead: Signal<number>;
  /** Whether the reader follows the newest message; true if nobody reads. */
  readonly follows: { current: boolean };
  /** First messages of threads and messages without one. */
  readonly top: ReadonlySignal<readonly Message[]>;
  /** Replies by the first message of their thread. */
  readonly replies: ReadonlySignal<ReadonlyMap<string, readonly Message[]>>;
}

const PAGE = 100;
/** So many rooms are kept as they were left. */
const KEPT = 8;
/**
 * So many messages of a room. For a reader who follows, older ones are forgotten, and read again when they scroll up;
 * for a reader further up, newer ones are only counted, and read when they go to the end.
 */
const MOST_MESSAGES = 1000;
const rooms = new Map<string, Room>();
/** Rooms of which a page is being read. */
const reading = new Set<string>();
/** Agents that take a turn for something said in a channel. */
export const typing = signal<ReadonlyMap<string, readonly string[]>>(new Map());

export function startRooms(): () => void {
  const stops = [
    onReread(() => {
      for (const room of rooms.values()) void readNewest(room, !room.follows.current);
    }),
    onEvent(take),
  ];
  return () => {
    for (const stop of stops) stop();
    rooms.clear();
    typing.value = new Map();
  };
}

export function openRoom(id: string): Room {
  const known = rooms.get(id) ?? createRoom(id);
  rooms.delete(id);
  rooms.set(id, known);
  const oldest = rooms.keys().next();
  if (rooms.size > KEPT && !oldest.done) rooms.delete(oldest.value);
  return known;
}

function createRoom(id: string): Room {
  const rows = signal<readonly Message[]>([]);
  const room: Room = {
    id,
    rows,
    cursor: signal(null),
    loaded: signal(false),
    problem: signal(null),
    sent: signal(null),
    ahead: signal(0),
    follows: { current: true },
    top: computed(() => rows.value.filter(({ parentMessageId }) => parentMessageId === null)),
    replies: computed(() => {
      const inThreads = rows.value.filter(({ parentMessageId }) => parentMessageId !== null);
      return Map.groupBy(inThreads, ({ parentMessageId }) => parentMessageId ?? '');
    }),
  };
  void readNewest(room);
  return room;
}

/**
 * Reads the newest messages and joins them to what is there. If the gap is too wide to join, it drops the old ones; for a
 * reader further up it keeps those instead.
 */
export async function readNewest(room: Room, keeps = false): Promise<void> {
  try {
    const page = await api.listChannelMessages(room.id, { limit: PAGE });
    const fresh = [...page.items].reverse();
    const ids = new Set(fresh.map(({ messageId }) => messageId));
    const rows = room.rows.peek();
    const isFresh = ({ messageId }: Message): boolean => ids.has(messageId);
    // Replies may be there that came after those that were only counted.
    const first = rows.findIndex((row) => isFresh(row) && (room.ahead.peek() === 0 || row.parentMessageId === null));
    if (first < 0 && rows.length > 0 && keeps) {
      room.ahead.value = Number.POSITIVE_INFINITY;
    } else {
      // Messages that came while the page was read are newer.
      const newer = first >= 0 ? rows.slice(rows.findLastIndex(isFresh) + 1) : room.loaded.peek() ? [] : rows;
      room.rows.value = [...rows.slice(0, Math.max(0, first)), ...fresh, ...newer];
      if (first < 0) room.cursor.value = page.nextCursor;
      room.ahead.value = 0;
    }
    room.loaded.value = true;
    room.problem.value = null;
  } catch (error) {
    room.problem.value = error instanceof Error ? error.message : String(error);
  }
}

/** The reader is at the end of what is kept: reads on if a page reaches as far. */
export async function readOn(room: Room): Promise<void> {
  if (room.ahead.peek() >= PAGE || reading.has(room.id)) return;
  reading.add(room.id);
  await readNewest(room, true);
  reading.delete(room.id);
}

/** The reader goes to the end: reads what was only counted. */
export async function catchUp(room: Room): Promise<void> {
  room.follows.current = true;
  if (room.ahead.peek() === 0) return;
  await readNewest(room);
  // Those that came meanwhile were only counted; now they join.
  await readNewest(room);
}

/** Reads the page before the oldest message. */
export async function readOlder(room: Room): Promise<void> {
  const cursor = room.cursor.peek();
  if (cursor === null || reading.has(room.id)) return;
  reading.add(room.id);
  try {
    const page = await api.listChannelMessages(room.id, { cursor, limit: PAGE });
    const known = new Set(room.rows.peek().map(({ messageId }) => messageId));
    const older = page.items.filter(({ messageId }) => !known.has(messageId)).reverse();
    room.rows.value = [...older, ...room.rows.peek()];
    room.cursor.value = page.nextCursor;
  } finally {
    reading.delete(room.id);
  }
}

/** A message that the daemon returned, or that an event carries: by its id it is there once. */
export function putMessage(message: Message): void {
  const room = rooms.get(message.channelId);
  if (!room) return;
  const rows = room.rows.peek();
  const at = rows.findLastIndex(({ messageId }) => messageId === message.messageId);
  if (at >= 0) room.rows.value = rows.with(at, message);
  else if (message.messageId === room.sent.peek() && room.ahead.peek() > 0) void catchUp(room);
  else if (isTooMany(room, message)) room.ahead.value += message.parentMessageId === null ? 1 : 0;
  else room.rows.value = [...rows, message];
  if (room.rows.peek().length > MOST_MESSAGES && room.follows.current) void forgetOld(room).catch(() => {});
}

/** Replies in the thread that is open are shown, wherever the reader is. */
function isTooMany(room: Room, { parentMessageId }: Message): boolean {
  if (parentMessageId !== null && parentMessageId === route.peek()[2]) return false;
  return room.ahead.peek() > 0 || (!room.follows.current && room.rows.peek().length >= MOST_MESSAGES);
}

/** Keeps the newest page, and the cursor to what is before it. */
async function forgetOld(room: Room): Promise<void> {
  if (reading.has(room.id)) return;
  reading.add(room.id);
  try {
    const page = await api.listChannelMessages(room.id, { limit: PAGE });
    const rows = room.rows.peek();
    const first = rows.findIndex(({ messageId }) => messageId === page.items.at(-1)?.messageId);
    if (first < 0 || !room.follows.current) return;
    room.rows.value = rows.slice(first);
    room.cursor.value = page.nextCursor;
  } finally {
    reading.delete(room.id);
  }
}

function take(event: SubstratEvent): void {
  switch (event.type) {
    case 'message_created':
      putMessage(event.data.message);
      break;
    case 'message_updated':
      change(event.data.message.channelId, event.data.message.messageId, () => event.data.message);
      break;
    case 'message_deleted':
      change(event.data.channelId, event.data.messageId, (row) => ({ ...row, text: '', deletedAt: event.at }));
      break;
    case 'reaction_added':
    case 'reaction_removed': {
      const { channelId, messageId, emoji, by } = event.data;
      const add = event.type === 'reaction_added';
      change(channelId, messageId, (row) => ({ ...row, reactions: react(row.reactions, emoji, by, add) }));
      break;
    }
    case 'agent_typing':
    case 'agent_done': {
      const { channelId, agent } = event.data;
      const others = (typing.peek().get(channelId) ?? []).filter((one) => one !== agent);
      const all = event.type === 'agent_typing' ? [...others, agent] : others;
      typing.value = new Map(typing.peek()).set(channelId, all);
    }
  }
}

function change(channelId: string, messageId: string, to: (message: Message) => Message): void {
  const room = rooms.get(channelId);
  const rows = room?.rows.peek() ?? [];
  const at = rows.findLastIndex((row) => row.messageId === messageId);
  const row = rows[at];
  if (room && row) room.rows.value = rows.with(at, to(row));
}

function react(reactions: Message['reactions'], emoji: string, by: string, add: boolean): Message['reactions'] {
  const known = reactions.find((one) => one.emoji === emoji);
  const users = (known?.users ?? []).filter((user) => user !== by);
  const next = { emoji, users: add ? [...users, by] : users };
  const all = known ? reactions.map((one) => (one === known ? next : one)) : [...reactions, next];
  return all.filter((one) => one.users.length > 0);
}
