import { setTimeout as pause } from 'node:timers/promises';

/** Polls until the result is not null, undefined or false; fails after the deadline with what it waited for. */
export async function until<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  deadlineMs = 45_000,
): Promise<T> {
  for (const giveUp = Date.now() + deadlineMs; ; await pause(5)) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > giveUp) throw new Error(`${what}: it did not happen within ${deadlineMs} ms.`);
  }
}
