import type { Tx } from '../store/store.ts';
import type { Recipient } from './post.ts';

/**
 * What a person says in a channel is brought to its agents one after another, so that each sees what the earlier ones wrote.
 * Who comes when is a row for each agent that has still to see something; what its turn will bring is held back until then.
 * Later posts come along with what an agent has not begun to read.
 */

/** Finds each agent's place for a post. After the post is stored, `advance` lets the first one begin. */
export async function joinRound(tx: Tx, channelId: string, agentIds: readonly string[]): Promise<Recipient[]> {
  const recipients: Recipient[] = [];
  for (const agentId of agentIds) {
    const turn = await tx.rounds.getPlace({ channelId, agentId });
    if (!turn) await tx.rounds.queuePlace({ channelId, agentId });
    const begins = turn && turn.state !== 'waiting' && (await tx.rounds.leftInPlace({ channelId, agentId })) === 'open';
    recipients.push({ agentId, kind: 'news', round: begins ? 'turn' : 'held' });
  }
  return recipients;
}

/**
 * Lets the next one begin, unless somebody's turn is under way. Agents that are busy come after those that are idle. One that
 * cannot run is never let begin: it is queued at the end, and what it has to read stays held until it can run.
 */
export async function advance(tx: Tx, channelId: string, now: number): Promise<void> {
  const turns = await tx.rounds.listPlaces({ channelId, now });
  if (turns.some(({ state }) => state === 'released')) return;
  const waiting = turns.filter(({ state }) => state === 'waiting');
  const able = waiting.filter((turn) => turn.able);
  const next = able.find((turn) => turn.running === 0) ?? able[0];
  if (!next) return;
  const unable = waiting.filter((turn) => !turn.able && turn.position < next.position);
  for (const { agentId } of unable) await tx.rounds.queuePlace({ channelId, agentId });
  await tx.rounds.releasePlace({ channelId, agentId: next.agentId, now });
  await tx.runs.wakeAgent({ agentId: next.agentId, now });
}

/** A run of the agent has ended, or what it was to read is gone: the turns in which nothing is left are over. */
export async function endTurns(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const { channelId, state } of await tx.rounds.listPlacesOf({ agentId })) {
    const left = await tx.rounds.leftInPlace({ channelId, agentId });
    if (left === null) await tx.rounds.tryDeletePlace({ channelId, agentId });
    else if (left === 'held' && state !== 'waiting') await tx.rounds.queuePlace({ channelId, agentId });
    else continue;
    await advance(tx, channelId, now);
  }
}

/** The agent will be a while: nobody waits for it, and it goes on when it can. */
export async function passTurns(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const { channelId } of await tx.rounds.listPlacesOf({ agentId })) {
    if (await tx.rounds.tryPassPlace({ channelId, agentId })) await advance(tx, channelId, now);
  }
}

/** What time alone brings: turns that began before `before` are passed, and agents that can run again take theirs. */
export async function passStaleTurns(tx: Tx, before: number, now: number): Promise<void> {
  for (const { channelId, agentId } of await tx.rounds.listStalePlaces({ before })) {
    await tx.rounds.tryPassPlace({ channelId, agentId });
    await advance(tx, channelId, now);
  }
  for (const { channelId } of await tx.rounds.listStalledRounds({ now })) await advance(tx, channelId, now);
}
