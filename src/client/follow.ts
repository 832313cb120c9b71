import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { SubstratError } from '../core/errors.ts';
import type { SubstratEvent } from './client.ts';
import { type Address, openRequest, readAnswer, unreachable } from './exchange.ts';

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
      if (response.statusCode === 200) resolve(response);
      else readAnswer(response).catch(reject);
    });
    outgoing.end();
  });
}

/** The events of the stream, and the numbers of those that the filter left out, so that nothing is asked for twice. */
async function* readFrames(response: IncomingMessage): AsyncGenerator<{ seq: number; event: SubstratEvent | null }> {
  response.setEncoding('utf8');
  let buffer = '';
  try {
    for await (const chunk of response) {
      buffer += chunk as string;
      for (let end = buffer.indexOf('\n\n'); end !== -1; end = buffer.indexOf('\n\n')) {
        const frame = parseFrame(buffer.slice(0, end));
        buffer = buffer.slice(end + 2);
        if (frame) yield frame;
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  }
}

function parseFrame(frame: string): { seq: number; event: SubstratEvent | null } | null {
  const line = (prefix: string) =>
    frame
      .split('\n')
      .find((one) => one.startsWith(prefix))
      ?.slice(prefix.length);
  const data = line('data: ');
  if (data !== undefined) {
    const event = JSON.parse(data) as SubstratEvent;
    return { seq: event.seq, event };
  }
  const mark = line(': ');
  return mark && /^\d+$/.test(mark) ? { seq: Number(mark), event: null } : null;
}
