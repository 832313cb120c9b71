import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { SubstratError } from '../core/errors.ts';
import type { LiveEvent, SubstratEvent } from './calls.ts';
import { type Address, notOurs, openRequest, readAnswer, unreachable } from './exchange.ts';

const RETRY_MS = 500;

/** Reads the event stream. When the connection breaks, resumes after the last event seen, until the signal aborts. */
export async function* followEvents(
  address: Address,
  path: string,
  after: number | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<SubstratEvent | LiveEvent> {
  let seen = after;
  for (let connected = false; !signal?.aborted; ) {
    try {
      const response = await openStream(address, path, seen, signal);
      connected = true;
      for await (const frame of readFrames(response)) {
        if (frame.seq !== null) seen = frame.seq;
        if (frame.event) yield frame.event;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // Before the first connection, a missing daemon is an error; later it is expected to come back, and so is its
      // store.
      const lost = error instanceof SubstratError && (error.code === 'not_running' || error.code === 'store');
      if (!lost || !connected) throw error;
    }
    await sleep(RETRY_MS, undefined, signal ? { signal } : {}).catch(() => {});
  }
}

function openStream(
  address: Address,
  path: string,
  seen: number | undefined,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(address, 'GET', path, seen === undefined ? {} : { 'last-event-id': String(seen) });
    const abort = (): void => void outgoing.destroy();
    signal?.addEventListener('abort', abort);
    outgoing.on('close', () => signal?.removeEventListener('abort', abort));
    outgoing.on('error', (error) => reject(unreachable(error, address)));
    outgoing.on('response', (response) => {
      if (response.statusCode === 200) return resolve(response);
      const refused = readAnswer(response).then(() => Promise.reject(notOurs(response)));
      refused.catch((error: Error) => reject(unreachable(error, address)));
    });
    outgoing.on('upgrade', (response, socket) => {
      socket.destroy();
      reject(notOurs(response));
    });
    outgoing.end();
  });
}

interface Frame {
  /** Null for what is not stored. */
  readonly seq: number | null;
  readonly event: SubstratEvent | LiveEvent | null;
}

/** Yields events, and the sequence numbers of those filtered out, so that nothing is requested twice. */
async function* readFrames(response: IncomingMessage): AsyncGenerator<Frame> {
  // Imported here, because most commands do not follow events.
  const { createParser } = await import('eventsource-parser');
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent({ data }) {
      const event = JSON.parse(data) as SubstratEvent | LiveEvent;
      frames.push({ seq: 'seq' in event ? event.seq : null, event });
    },
    onComment(mark) {
      if (/^\d+$/.test(mark)) frames.push({ seq: Number(mark), event: null });
    },
  });
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      parser.feed(chunk as string);
      yield* frames.splice(0);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  }
}
