import type { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const tailBytes = 8 * 1024;
/** How long to wait on a silent pipe that a process outside the dead group holds open, and how much to read from it. */
const drainMs = 100;
const drainBytes = 1024 * 1024;

/**
 * Yields the chunks of a stream to its end. A process that escaped from the group can hold the pipe open forever:
 * once the group is dead, silence ends the stream, or the maximum a pipe can still have buffered.
 */
export async function* untilSilent(stream: Readable, groupDead: Promise<unknown>): AsyncGenerator<Buffer> {
  let dead = false;
  let reading = 0;
  let silence: NodeJS.Timeout | undefined;
  const listen = () => {
    if (!dead || !reading) return;
    const silent = reading;
    // After a long block of the event loop the timer fires before pending reads, the immediate after them.
    silence = setTimeout(() => setImmediate(() => reading === silent && stream.destroy()), drainMs);
  };
  void groupDead.then(() => {
    dead = true;
    listen();
  });

  const chunks = stream[Symbol.asyncIterator]();
  for (let left = drainBytes, read = 1; left > 0; read++) {
    reading = read;
    listen();
    // A stream destroyed before its end rejects.
    const { value, done } = await chunks.next().catch(() => ({ value: null, done: true }));
    reading = 0;
    clearTimeout(silence);
    if (done) return;
    if (dead) left -= value.length;
    yield value;
  }
}

/** Keeps the last bytes of a stream. Called after the group's death, it waits for what is still in the pipe. */
export function tail(stream: Readable): () => Promise<string> {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-tailBytes);
  });
  const closed = new Promise((resolve) => stream.once('close', resolve));
  return async () => {
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false }).then(() => nextTurn())]);
    // The cut may be inside a character.
    const start = kept.length < tailBytes ? 0 : Math.max(0, kept.findIndex(startsCharacter));
    return new TextDecoder().decode(kept.subarray(start));
  };
}

function startsCharacter(byte: number): boolean {
  return (byte & 0xc0) !== 0x80;
}
