import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { SubstratError } from '../core/errors.ts';
import type { Event } from '../http/schemas.ts';
import { type Address, notOurs, openRequest, readAnswer, unreachable } from './exchange.ts';

export type SubstratEvent = z.infer<typeof Event>;

const RETRY_MS = 500;

/** Reads the stream of events. When it breaks, goes on after the last one that was seen, until the signal says stop. */
export async function* followEvents(
  address: Address,
  path: string,
  after: number | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<SubstratEvent> {
  let seen = after;
  for (let connected = false; !signal?.aborted; ) {
    try {
      const response = await openStream(address, path, seen, signal);
      connected = true;
      for await (const frame of readFrames(response)) {
        seen = frame.seq;
        if (frame.event) yield frame.event;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // Before the first connection a dead daemon is an answer; later it is expected to come back, and so is its store.
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
  readonly seq: number;
  readonly event: SubstratEvent | null;
}

/** The events of the stream, and the numbers of those that the filter left out, so that nothing is asked for twice. */
async function* readFrames(response: IncomingMessage): AsyncGenerator<Frame> {
  // Imported here: most commands follow nothing.
  const { createParser } = await import('eventsource-parser');
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent({ data }) {
      const event = JSON.parse(data) as SubstratEvent;
      frames.push({ seq: event.seq, event });
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
