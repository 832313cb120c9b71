import type { ServerResponse } from 'node:http';
import type { Context } from 'hono';
import { shorten } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Caller, Variables } from './access.ts';
import type { Api } from './api.ts';
import type { EventHub, Told } from './hub.ts';

export interface StreamFilter {
  readonly agentId: string | null;
  readonly channelId: string | null;
  readonly types: readonly string[] | null;
}

/**
 * The events after `after` and on, as server-sent events. A reader pulls: one that is slow has only its place in the log
 * here, and nothing grows behind it.
 */
export function streamEvents(
  api: Api,
  hub: EventHub,
  c: Context<{ Variables: Variables }>,
  after: number,
  filter: StreamFilter,
): Response {
  const { signal } = c.req.raw;
  const { heartbeatMs, patienceMs } = api.config.events;
  const { outgoing } = c.env as { outgoing?: ServerResponse };
  const encoder = new TextEncoder();
  const leave = hub.join();
  let seen = after;
  let stalled: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(stalled);
    leave();
  };
  const next = async (): Promise<string> => {
    if (seen >= hub.last && !(await changed(hub, signal, heartbeatMs))) return `: ${seen}\n\n`;
    const page = await hub.after(seen);
    let frames = '';
    for (const told of page) if (await mayRead(api, c.get('caller'), told, filter)) frames += told.frame;
    seen = page.at(-1)?.seq ?? seen;
    return frames;
  };
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(`retry: 1000\n: ${seen}\n\n`)),
    pull: async (controller) => {
      clearTimeout(stalled);
      let frames = '';
      while (frames === '' && !signal.aborted && !hub.closed) frames = await next();
      if (signal.aborted || hub.closed) {
        leave();
        return controller.close();
      }
      controller.enqueue(encoder.encode(frames));
      stalled = setTimeout(() => outgoing?.destroy(), patienceMs);
    },
    cancel: end,
  });
  signal.addEventListener('abort', end);
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
}

/** True when something came, false when it is time for a heartbeat, or to end. */
function changed(hub: EventHub, signal: AbortSignal, heartbeatMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (came: boolean): void => {
      clearTimeout(timer);
      unsubscribe();
      signal.removeEventListener('abort', onAbort);
      resolve(came);
    };
    const onAbort = (): void => end(false);
    const timer = setTimeout(() => end(false), heartbeatMs);
    const unsubscribe = hub.onEvents(() => end(true));
    signal.addEventListener('abort', onAbort);
  });
}

async function mayRead(api: Api, caller: Caller, told: Told, filter: StreamFilter): Promise<boolean> {
  const { channelId } = told;
  if (filter.types && !filter.types.includes(told.type)) return false;
  if (filter.agentId && !told.agents.includes(filter.agentId)) return false;
  if (filter.channelId && channelId !== filter.channelId) return false;
  if (caller.owner) return true;
  return channelId !== null && api.store.read((tx) => tx.isMember({ channelId, participantId: caller.id }));
}

/** Where a reader goes on: by its header, by the query, or from now. What is gone is said. */
export async function startOf(api: Api, hub: EventHub, lastEventId: string | undefined): Promise<number> {
  if (lastEventId === undefined) return hub.last;
  if (!/^\d{1,15}$/.test(lastEventId)) {
    throw new SubstratError(
      'bad_request',
      `Last-Event-ID must be the number of an event; got "${shorten(lastEventId)}".`,
    );
  }
  const after = Number(lastEventId);
  const [oldest, last] = await api.store.read(async (tx) => [
    (await tx.getOldestEvent({}))?.seq ?? null,
    await tx.getEventCounter({}),
  ]);
  if (after > last) throw new SubstratError('bad_request', `There is no event ${after} yet; the last one is ${last}.`);
  const first = oldest ?? last + 1;
  if (after < first - 1) {
    throw new SubstratError(
      'gone',
      `Events before ${first} are no longer kept. Read the state anew and go on from ${last}.`,
    );
  }
  return after;
}
