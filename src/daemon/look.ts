import { EXTERNAL } from '../core/provider-names.ts';
import type { AgentDoors } from './doors.ts';
import type { Node } from './node.ts';
import type { Teamwork } from './teamwork.ts';
import type { Tidying } from './tidying.ts';

interface Looking extends Pick<Node, 'store' | 'home'> {
  readonly teamwork: Pick<Teamwork, 'scheduler'>;
  readonly doors: AgentDoors;
  readonly tidying: Tidying;
}

/**
 * Another node, or a person there, has changed agents of this node: ended their runs, terminated them, or moved them
 * here or away. Ends the turns that were fenced, and opens or closes their sockets.
 */
export async function lookAgain(looking: Looking, agentIds: readonly string[]): Promise<void> {
  const { store, home, teamwork, doors, tidying } = looking;
  await teamwork.scheduler.renewLeases();
  for (const id of agentIds) {
    const { agent, live } = await store.read(async (tx) => ({
      agent: await tx.agents.getAgent({ id }),
      live: await tx.runs.getLiveRun({ agentId: id }),
    }));
    const isOurs = agent?.terminatedAt === null && agent.nodeId === home.nodeId;
    // A client that is connected belongs to a run that has ended. The next one to join opens another.
    const isDone = !isOurs || live === null || agent.provider !== EXTERNAL;
    const wasOpen = isDone && (await doors.closeExternal(id));
    // Its socket is at the same path as that of a turn which is being ended.
    if (isOurs && agent.provider === EXTERNAL) await teamwork.scheduler.settled(id);
    if (isOurs && (agent.provider === EXTERNAL || live === null)) await doors.prepare(agent);
    // Its old socket tells clients where the agent is now.
    else if (wasOpen && agent?.terminatedAt === null && agent.provider === EXTERNAL) await doors.openExternal([agent]);
    tidying.begin(id);
  }
  teamwork.scheduler.poke();
}
