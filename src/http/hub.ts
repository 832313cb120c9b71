import { setTimeout as sleep } from 'node:timers/promises';
import { EVENTS, type EventSubjects, type StoredEvent } from '../core/event.ts';
import { turnOfOthers } from '../core/turn-of-others.ts';
import type { MessageView, Store, Tx } from '../store/store.ts';
import { showMessages, showTime } from './shown.ts';

/** An event as readers get it, and what decides who gets it. */
export interface Told {
  readonly seq: number;
  readonly type: string;
  readonly agents: readonly string[];
  readonly channelId: string | null;
  /** The SSE frame, built once for all readers. */
  readonly frame: Buffer;
}

/**
 * The newest events are cached, up to this many bytes, so that a thousand readers who are up to date cost one query.
 */
const KEPT = 4_000_000;
/** The number of events loaded into the cache. */
const FILLED = 10_000;
/** Maximum bytes per page for one reader, because texts can be long. */
const PAGE = 250_000;
/** The delay after a failed read of the store. */
const RETRY_MS = 500;

/**
 * Follows the event log once for all readers. Sequence numbers have no gaps and are in commit order, so a reader that
 * has seen n asks for events after n, from the cache if possible, otherwise from the store. Without readers, only the
 * last number is followed.
 */
export class EventHub {
  readonly #store: Store;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #kept: Told[] = [];
  #size = 0;
  #last: number;
  #reading: Promise<void> | null = null;
  #again = false;
  #closed = false;
  #filled: Promise<void> | null = null;
  #filling = false;

  private constructor(store: Store, last: number) {
    this.#store = store;
    this.#last = last;
    this.#unsubscribe = store.onChange(({ seq }) => this.#hear(seq));
  }

  static async open(store: Store): Promise<EventHub> {
    return new EventHub(store, await store.read((tx) => tx.events.getEventCounter()));
  }

  /** Sequence number of the last known event. */
  get last(): number {
    return this.#last;
  }

  /** Adds a reader; the listener is called on new events and at the end. Returns how to leave. */
  join(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The events after `seq`, at most one page; synchronous if they are cached. */
  after(seq: number): readonly Told[] | Promise<readonly Told[]> {
    if (seq >= this.#last) return [];
    if (!this.#filled) {
      this.#filling = true;
      this.#filled = this.#fill()
        .catch((error: unknown) => {
          this.#filled = null;
          throw error;
        })
        .finally(() => {
          this.#filling = false;
        });
    }
    if (this.#filling) return this.#filled.then(() => this.after(seq));
    const first = this.#kept[0];
    if (first && first.seq <= seq + 1) return this.#page(seq + 1 - first.seq);
    return this.#store.read((tx) => readEvents(tx, seq));
  }

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    for (const listener of this.#listeners) listener();
  }

  /**
   * After a restart all readers reconnect at once, each slightly behind: the newest events are read once for all of
   * them.
   */
  async #fill(): Promise<void> {
    const last = this.#last;
    const older: Told[] = [];
    let size = 0;
    let seq = Math.max(0, last - FILLED);
    while (seq < last) {
      const page = await this.#store.read((tx) => readEvents(tx, seq));
      const wanted = page.filter((told) => told.seq <= last);
      if (wanted.length === 0) break;
      older.push(...wanted);
      for (const { frame } of wanted) size += frame.length;
      // Beyond the cache limit, drop the oldest.
      while (size > KEPT && older.length > 1) size -= older.shift()?.frame.length ?? 0;
      await turnOfOthers();
      seq = wanted.at(-1)?.seq ?? last;
    }
    const newer = this.#kept;
    this.#kept = [];
    this.#size = 0;
    this.#keep([...older, ...newer.filter((told) => told.seq > last)]);
  }

  #page(start: number): readonly Told[] {
    let size = 0;
    let end = start;
    while (end < this.#kept.length && size <= PAGE) size += this.#kept[end++]?.frame.length ?? 0;
    return this.#kept.slice(start, end);
  }

  #keep(told: readonly Told[]): void {
    this.#kept.push(...told);
    for (const { frame } of told) this.#size += frame.length;
    let dropped = 0;
    while (this.#size > KEPT && dropped < this.#kept.length) this.#size -= this.#kept[dropped++]?.frame.length ?? 0;
    if (dropped > 0) this.#kept = this.#kept.slice(dropped);
  }

  #hear(seq: number): void {
    if (this.#listeners.size > 0 || this.#reading || this.#filling) {
      this.#look();
      return;
    }
    this.#kept = [];
    this.#size = 0;
    this.#filled = null;
    this.#last = Math.max(this.#last, seq);
  }

  #look(): void {
    this.#again = true;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
  }

  /** While the store cannot be read, readers get nothing; afterwards they get everything. */
  async #read(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      let told: readonly Told[];
      try {
        told = await this.#store.read((tx) => readEvents(tx, this.#last));
      } catch {
        this.#again = true;
        await sleep(RETRY_MS, undefined, { ref: false });
        continue;
      }
      const newest = told.at(-1);
      if (!newest) continue;
      this.#keep(told);
      this.#last = newest.seq;
      this.#again = true;
      for (const listener of this.#listeners) listener();
      await turnOfOthers();
    }
  }
}

async function readEvents(tx: Tx, after: number): Promise<Told[]> {
  const page: Told[] = [];
  let size = 0;
  for (const event of await tx.events.listEvents({ after, limit: 500 })) {
    const told = await showEvent(tx, event);
    page.push(told);
    size += told.frame.length;
    if (size > PAGE) break;
  }
  return page;
}

/** Adds handles. Message events carry the current message and its recipients. */
async function showEvent(tx: Tx, event: StoredEvent): Promise<Told> {
  const data: EventSubjects = event.data;
  const about = EVENTS[event.type].shown === 'message' ? data.messageId : undefined;
  const message = about === undefined ? null : await tx.messages.getMessageView({ id: about });
  const shown = message
    ? { message: (await showMessages(tx, [message]))[0], to: await readers(tx, message, data.recipients ?? []) }
    : await named(tx, data);
  const body = { seq: event.seq, type: event.type, at: showTime(event.at), data: shown };
  const involved = [data.authorId, data.agentId, event.agentId, ...(data.recipients ?? [])];
  return {
    seq: event.seq,
    type: event.type,
    agents: involved.filter((id) => id !== undefined && id !== null),
    channelId: event.channelId,
    frame: Buffer.from(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(body)}\n\n`),
  };
}

/** Adds the handle next to each id. */
async function named(tx: Tx, data: EventSubjects): Promise<object> {
  const { agentId, participantId, by } = data;
  return {
    ...data,
    ...(agentId !== undefined && { agent: await handleOf(tx, agentId) }),
    ...(participantId !== undefined && { participant: await handleOf(tx, participantId) }),
    ...(by !== undefined && { by: await handleOf(tx, by) }),
  };
}

/** The recipients of a delivery; for a message without deliveries, the other members of the channel. */
async function readers(tx: Tx, message: MessageView, recipients: readonly string[]): Promise<string[]> {
  if (recipients.length > 0) return Promise.all(recipients.map((id) => handleOf(tx, id)));
  const members = await tx.channels.listMembers({ channelId: message.channelId });
  return members.filter(({ id }) => id !== message.authorId).map(({ handle }) => handle);
}

async function handleOf(tx: Tx, id: string): Promise<string> {
  return (await tx.participants.getParticipantById({ id }))?.handle ?? id;
}
