import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { SubstratError } from '../core/errors.ts';
import type { LiveEvent } from '../core/live.ts';
import { shorten } from '../core/text.ts';
import { turnOfOthers } from '../core/turn-of-others.ts';
import type { Caller } from './access.ts';
import type { Api } from './api.ts';
import type { EventHub, Told } from './hub.ts';

export interface StreamFilter {
  readonly agentId: string | null;
  readonly channelId: string | null;
  readonly types: readonly string[] | null;
  /** With what turns do at this moment. Only for the owner. */
  readonly live: boolean;
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  connection: 'close',
};

/**
 * Streams the events after `after` as server-sent events. Every reader gets the same frame, written directly to the
 * socket; the response has no length and no chunked encoding, and ends with its connection. For a reader whose socket
 * is full only its position in the log is kept, so nothing is buffered.
 */
export function streamEvents(
  api: Api,
  hub: EventHub,
  caller: Caller,
  outgoing: ServerResponse,
  after: number,
  filter: StreamFilter,
): Response {
  if (outgoing.req.method === 'HEAD') return new Response(null, { headers: HEADERS });
  const socket = socketOf(outgoing);
  const { heartbeatMs, patienceMs } = api.config.events;
  let seen = after;
  let busy = false;
  let stalled: NodeJS.Timeout | undefined;

  const send = (frames: readonly Uint8Array[]): void => {
    if (frames.length === 0) return;
    socket.cork();
    for (const frame of frames) socket.write(frame);
    socket.uncork();
    if (socket.writableNeedDrain) stalled ??= setTimeout(() => socket.destroy(), patienceMs);
  };
  const behind = (): boolean => seen < hub.last && !stalled && !outgoing.closed && !socket.destroyed;
  const bring = async (): Promise<void> => {
    while (behind()) {
      const news = hub.after(seen);
      const page = 'then' in news ? await news : news;
      const wanted = page.filter((told) => matches(told, filter));
      const visible = caller.owner && caller.token === null ? wanted : await visibleTo(api, caller, wanted);
      if (visible === null) return void socket.destroy();
      seen = page.at(-1)?.seq ?? seen;
      send(visible.map(({ frame }) => frame));
      wait();
      // Reading and serializing a page may have taken a while.
      if ('then' in news) await turnOfOthers();
    }
  };
  const wait = (): void => {
    if (!outgoing.closed && !socket.destroyed) heartbeat.refresh();
  };
  const look = (): void => {
    if (hub.closed) return void outgoing.end();
    if (busy) return;
    busy = true;
    bring().then(
      () => {
        busy = false;
        if (behind()) look();
      },
      () => socket.destroy(),
    );
  };
  const drained = (): void => {
    clearTimeout(stalled);
    stalled = undefined;
    look();
  };

  outgoing.removeHeader('transfer-encoding');
  outgoing.writeHead(200, HEADERS).flushHeaders();
  const beat = async (): Promise<void> => {
    if (caller.token !== null && (await visibleTo(api, caller, [])) === null) socket.destroy();
    else send([Buffer.from(`: ${seen}\n\n`)]);
    wait();
  };
  // What a turn does at this moment does not put it off: it also notices that the token was revoked.
  const heartbeat = setTimeout(() => void beat().catch(() => socket.destroy()), heartbeatMs);
  const leave = hub.join(look);
  // A reader that does not keep up misses pieces: nothing is kept for it. They have no number, so none is resumed.
  const hush = filter.live
    ? api.live.subscribe((event) => {
        if (stalled || socket.destroyed || (filter.agentId && event.agentId !== filter.agentId)) return;
        send([frameOf(event)]);
      }, filter.agentId)
    : () => {};
  socket.on('drain', drained);
  outgoing.on('close', () => {
    clearTimeout(heartbeat);
    clearTimeout(stalled);
    socket.off('drain', drained);
    leave();
    hush();
  });
  send([Buffer.from(`retry: 1000\n: ${seen}\n\n`)]);
  look();
  return RESPONSE_ALREADY_SENT;
}

/** Built once for all readers. */
const frames = new WeakMap<LiveEvent, Buffer>();

function frameOf(event: LiveEvent): Buffer {
  const frame = frames.get(event) ?? Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  frames.set(event, frame);
  return frame;
}

function matches(told: Told, filter: StreamFilter): boolean {
  if (filter.types && !filter.types.includes(told.type)) return false;
  if (filter.agentId && !told.agents.includes(filter.agentId)) return false;
  return !filter.channelId || told.channelId === filter.channelId;
}

/**
 * The events in channels that the caller sees now. Membership is read after the events, once for the page: after
 * leaving a channel, a reader sees none of its events, past or new. Returns null if the token was revoked.
 */
async function visibleTo(api: Api, caller: Caller, page: readonly Told[]): Promise<readonly Told[] | null> {
  const { id: participantId, owner, token } = caller;
  const channelIds = owner ? [] : [...new Set(page.flatMap(({ channelId }) => channelId ?? []))];
  return api.store.read(async (tx) => {
    if (token !== null && !(await tx.tokens.getTokenOwner({ hash: token, at: api.clock() }))) return null;
    if (owner) return page;
    const seen = channelIds.length === 0 ? [] : await tx.channels.listSeen({ participantId, channelIds });
    const ids = new Set(seen.map(({ id }) => id));
    return page.filter(({ channelId }) => channelId !== null && ids.has(channelId));
  });
}

/** The connection of a response. Throws while earlier requests on it are not answered. */
export function socketOf({ socket }: ServerResponse): Socket {
  if (socket) return socket;
  const message = 'Use a separate connection for events; do not pipeline other requests on it.';
  throw new SubstratError('bad_request', message);
}

/** Where a reader resumes: from its header, from the query, or from now. Throws if those events no longer exist. */
export async function startOf(api: Api, lastEventId: string | undefined): Promise<number> {
  if (lastEventId === undefined) return api.store.read((tx) => tx.events.getEventCounter());
  if (/^-\d{1,4}$/.test(lastEventId)) {
    const [oldest, last] = await api.store.read(async (tx) => [
      await tx.events.getOldestEvent(),
      await tx.events.getEventCounter(),
    ]);
    return Math.max(last + Number(lastEventId), (oldest ?? last + 1) - 1, 0);
  }
  if (!/^\d{1,15}$/.test(lastEventId)) {
    throw new SubstratError(
      'bad_request',
      `Last-Event-ID must be the number of an event; got "${shorten(lastEventId)}".`,
    );
  }
  const after = Number(lastEventId);
  const [oldest, last] = await api.store.read(async (tx) => [
    await tx.events.getOldestEvent(),
    await tx.events.getEventCounter(),
  ]);
  // Who has seen it has seen another history: the store is an older one, brought back.
  if (after > last) {
    throw new SubstratError(
      'gone',
      `There is no event ${after}; the last one is ${last}. Read the current state and resume from ${last}.`,
    );
  }
  const first = oldest ?? last + 1;
  if (after < first - 1) {
    throw new SubstratError(
      'gone',
      `Events before ${first} are no longer stored. Read the current state and resume from ${last}.`,
    );
  }
  return after;
}
