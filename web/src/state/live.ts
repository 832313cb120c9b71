import { batch, signal } from '@preact/signals';
import { type LiveEvent, readEvents, type SubstratEvent } from '../../../src/client/browser.ts';
import { address, isOwner } from './session.ts';
import { BASE } from './storage.ts';

export type Connection =
  | { readonly state: 'live' }
  | { readonly state: 'lost'; readonly since: number; readonly reason: string };

/** What the tabs of one browser tell each other. */
type Note =
  | { readonly kind: 'event'; readonly event: SubstratEvent | LiveEvent }
  | { readonly kind: 'connection'; readonly connection: Connection }
  /** A tab asks the one that reads the stream how things stand. */
  | { readonly kind: 'hello' };

const RETRY_MS = 1000;
const FLUSH_MS = 50;

export const connection = signal<Connection | null>(null);

const onEvents = new Set<(event: SubstratEvent) => void>();
const onLives = new Set<(event: LiveEvent) => void>();
const onRereads = new Set<() => void>();
let waiting: (SubstratEvent | LiveEvent)[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let retryNow: () => void = () => {};

/** Calls the listener with each event, in order. Returns how to stop. */
export function onEvent(listener: (event: SubstratEvent) => void): () => void {
  onEvents.add(listener);
  return () => onEvents.delete(listener);
}

/** Calls the listener with what turns do at this moment. Only the owner gets any. */
export function onLive(listener: (event: LiveEvent) => void): () => void {
  onLives.add(listener);
  return () => onLives.delete(listener);
}

/** Calls the listener whenever the page may have missed something and has to read again; at once if it is live. */
export function onReread(listener: () => void): () => void {
  onRereads.add(listener);
  if (connection.peek()?.state === 'live') listener();
  return () => onRereads.delete(listener);
}

/** Connects at once instead of after the next pause. */
export function tryNow(): void {
  retryNow();
}

/**
 * Follows the events. Of all tabs of a browser one reads the stream, because browsers allow six connections to a
 * host; it hands the events to the others. When that tab closes, the lock goes to the next one.
 */
export function goLive(): () => void {
  const ended = new AbortController();
  const { signal: end } = ended;
  const others = new BroadcastChannel(`substrat:${BASE}`);
  let reads = false;
  const tell = (note: Note): void => {
    if (note.kind !== 'hello') take(note);
    others.postMessage(note);
  };
  others.onmessage = ({ data }: MessageEvent<Note>) => {
    if (data.kind !== 'hello') take(data);
    else if (reads && connection.peek()) others.postMessage({ kind: 'connection', connection: connection.peek() });
  };
  const read = async (): Promise<void> => {
    reads = true;
    await follow(tell, end);
  };
  if (navigator.locks) {
    tell({ kind: 'hello' });
    navigator.locks.request(`substrat:${BASE}`, { signal: end }, read).catch(() => {});
  } else {
    void read();
  }
  return () => {
    ended.abort();
    others.close();
    connection.value = null;
  };
}

function take(note: Exclude<Note, { kind: 'hello' }>): void {
  if (note.kind === 'event') {
    waiting.push(note.event);
    if (timer === undefined) timer = setTimeout(flush, FLUSH_MS);
    return;
  }
  const before = connection.peek();
  if (before?.state === 'lost' && note.connection.state === 'lost') return;
  connection.value = note.connection;
  if (note.connection.state !== 'live') return;
  waiting = [];
  for (const reread of onRereads) reread();
}

/** Many events at once are one update of what is shown. */
function flush(): void {
  timer = undefined;
  const events = waiting;
  waiting = [];
  batch(() => {
    for (const event of events) {
      if ('seq' in event) for (const listener of onEvents) listener(event);
      else for (const listener of onLives) listener(event);
    }
  });
}

/** Each connection begins with the present; what happened in between is read again, not guessed. */
async function follow(tell: (note: Note) => void, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    const broken = await readOnce(tell, end);
    if (end.aborted) return;
    tell({ kind: 'connection', connection: { state: 'lost', since: Date.now(), reason: broken } });
    await new Promise<void>((resolve) => {
      const pause = setTimeout(resolve, RETRY_MS);
      retryNow = () => {
        clearTimeout(pause);
        resolve();
      };
      end.addEventListener('abort', retryNow, { once: true });
    });
  }
}

async function readOnce(tell: (note: Note) => void, end: AbortSignal): Promise<string> {
  let isOpen = false;
  const opened = (): void => {
    if (isOpen) return;
    isOpen = true;
    tell({ kind: 'connection', connection: { state: 'live' } });
  };
  try {
    const path = isOwner.peek() ? '/api/events?live=true' : '/api/events';
    for await (const event of readEvents(address, path, undefined, end, opened)) tell({ kind: 'event', event });
    return 'The connection ended.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
