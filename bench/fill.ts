import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../src/core/agent.ts';
import type { Request } from '../src/core/message.ts';
import { openDm } from '../src/messaging/channels.ts';
import { post } from '../src/messaging/post.ts';
import { reply } from '../src/messaging/replies.ts';
import { createAgent } from '../src/messaging/tree.ts';
import { openStore } from '../src/store/open.ts';
import type { Store, Tx } from '../src/store/store.ts';

const LIMITS = { maxChildren: 1_000_000, maxDepth: 10, maxAgents: 1_000_000 };
const BATCH = 1_000;

/** Fills the store of a home without a daemon: questions of one agent that another answered, each in a run. */
export async function fillMessages(home: string, messages: number): Promise<void> {
  await withStore(home, async (store, nodeId) => {
    const [asker, answerer] = await store.write(async (tx) => {
      const asker = await addAgent(tx, nodeId, 'past-asker', null);
      return [asker, await addAgent(tx, nodeId, 'past-answerer', asker)] as const;
    });
    const exchanges = messages / 2;
    for (let done = 0; done < exchanges; done += BATCH) {
      await store.write(async (tx) => {
        for (let n = done; n < Math.min(done + BATCH, exchanges); n += 1) await exchange(tx, asker, answerer, n);
      });
    }
  });
}

/** Idle agents, a hundred per tree. */
export async function fillAgents(home: string, agents: number): Promise<void> {
  await withStore(home, async (store, nodeId) => {
    for (let n = 0; n < agents; n += 100) {
      await store.write(async (tx) => {
        const root = await addAgent(tx, nodeId, `root-${n}`, null);
        for (let child = 1; child < 100; child += 1) await addAgent(tx, nodeId, `worker-${n + child}`, root);
      });
    }
  });
}

async function withStore(home: string, work: (store: Store, nodeId: string) => Promise<void>): Promise<void> {
  const store = await openStore({ path: join(home, 'substrat.db') });
  await work(store, readFileSync(join(home, 'node'), 'utf8').trim());
  await store.close();
}

function addAgent(tx: Tx, nodeId: string, name: string, parent: Agent | null): Promise<Agent> {
  const wanted = {
    name,
    parent,
    nodeId,
    role: 'worker',
    instructions: 'Do what you are asked.',
    provider: 'scripted',
    model: null,
    program: '/bin/true',
    workspace: '/var/empty',
    workspaceId: null,
    tools: null,
    spawnedBy: null,
  };
  return createAgent(tx, LIMITS, wanted, Date.now());
}

async function exchange(tx: Tx, asker: Agent, answerer: Agent, n: number): Promise<void> {
  const now = Date.now();
  const { id: agentId, treeId, nodeId } = answerer;
  // Its question does not wake it: its run already exists.
  const run = await tx.runs.insertOpenRun({ agentId, treeId, nodeId, incarnation: 'i', now });
  const messageId = await post(
    tx,
    {
      channelId: await openDm(tx, asker, answerer, now),
      authorId: asker.id,
      runId: null,
      kind: 'message',
      text: `Question ${n}: what is there to say about it?`,
      chainDepth: 0,
      payerId: null,
      recipients: [{ agentId, kind: 'request' }],
      request: { recipientId: agentId, parentId: null, deadlineAt: now + 86_400_000 },
    },
    now,
  );
  await tx.deliveries.injectDelivery({ messageId, agentId, runId: run.id });
  await tx.runs.endRun({
    id: run.id,
    fence: run.fence,
    state: 'completed',
    stopReason: 'end_turn',
    error: null,
    finalText: '',
    now,
  });
  const request = (await tx.requests.getRequest({ id: messageId })) as Request;
  const answered = await reply(tx, request, { run, text: `Answer ${n}: nothing much.` }, now);
  await tx.deliveries.acknowledgeDelivery({ messageId: answered.messageId, agentId: asker.id });
  const woken = await tx.runs.getLiveRun({ agentId: asker.id });
  if (woken) {
    await tx.runs.endRun({
      id: woken.id,
      fence: woken.fence,
      state: 'completed',
      stopReason: 'end_turn',
      error: null,
      finalText: '',
      now,
    });
  }
}
