import type { Recipient } from './post.ts';
import type { Tx } from './tx.ts';

/**
 * A person's post in a channel is delivered to its agents one after another, so that each sees what the earlier ones
 * wrote. Each agent that still has something to read has a row with its place; its deliveries are held until its
 * turn. Later posts are added to what an agent has not started to read.
 */

/** Assigns each agent a place for a post. After the post is stored, `advance` lets the first one begin. */
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
 * Lets the next agent begin, unless a turn is in progress. Busy agents come after idle ones. An agent that cannot run
 * never begins: it goes to the end, and its deliveries stay held until it can run.
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

/** Called when a run of the agent has ended or its deliveries are gone: ends its turns that have nothing left. */
export async function endTurns(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const { channelId, state } of await tx.rounds.listPlacesOf({ agentId })) {
    const left = await tx.rounds.leftInPlace({ channelId, agentId });
    if (left === null) await tx.rounds.tryDeletePlace({ channelId, agentId });
    else if (left === 'held' && state !== 'waiting') await tx.rounds.queuePlace({ channelId, agentId });
    else continue;
    await advance(tx, channelId, now);
  }
}

/** The agent is delayed: the others do not wait for it, and it continues when it can. */
export async function passTurns(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const { channelId } of await tx.rounds.listPlacesOf({ agentId })) {
    if (await tx.rounds.tryPassPlace({ channelId, agentId })) await advance(tx, channelId, now);
  }
}

/** Passes turns that began before `before`, and lets agents that can run again take their turn. */
export async function passStaleTurns(tx: Tx, before: number, now: number): Promise<void> {
  for (const { channelId, agentId } of await tx.rounds.listStalePlaces({ before })) {
    await tx.rounds.tryPassPlace({ channelId, agentId });
    await advance(tx, channelId, now);
  }
  for (const { channelId } of await tx.rounds.listStalledRounds({ now })) await advance(tx, channelId, now);
}
