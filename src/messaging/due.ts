import type { Due } from '../core/due.ts';
import { closeDueBroadcasts } from './broadcasts.ts';
import { expireRequests } from './replies.ts';
import { passStaleTurns } from './rounds.ts';
import type { Tx } from './tx.ts';

/** What time alone brings to messages, in the order in which it happens. */
export function dueMessages({ turnTimeoutMs }: { readonly turnTimeoutMs: number }): Due<Tx>[] {
  return [turns(turnTimeoutMs), broadcasts, deadlines];
}

/** Turns of channels that took too long, and agents that can take theirs again. */
const turns = (timeoutMs: number): Due<Tx> => ({
  next: async (tx, now) => {
    const released = await tx.rounds.getOldestRelease();
    const rested = await tx.rounds.getNextRested({ now });
    const times = [released === null ? null : released + timeoutMs, rested].filter((at) => at !== null);
    return times.length === 0 ? null : Math.min(...times);
  },
  isDue: async (tx, now) => {
    const stale = await tx.rounds.listStalePlaces({ before: now - timeoutMs });
    return stale.length > 0 || (await tx.rounds.listStalledRounds({ now })).length > 0;
  },
  fire: async (tx, now) => {
    await passStaleTurns(tx, now - timeoutMs, now);
    return false;
  },
});

const broadcasts: Due<Tx> = {
  next: (tx) => tx.broadcasts.getNextBroadcastEnd(),
  fire: async (tx, now) => {
    await closeDueBroadcasts(tx, now);
    return false;
  },
};

const deadlines: Due<Tx> = {
  next: (tx) => tx.requests.getNextDeadline(),
  fire: async (tx, now) => (await expireRequests(tx, now)) > 0,
};
