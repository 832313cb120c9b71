import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Delivery } from '../core/delivery.ts';
import type { Run } from '../core/run.ts';
import { addAgent, type StoreKit, send } from './store.testkit.ts';
import type { Tx } from './store.ts';

/** A delivery and its request, as they must be in the store. */
interface Item {
  readonly messageId: string;
  readonly agentId: string;
  readonly runId: string;
  state: Delivery['state'];
  open: boolean;
}

interface Move {
  readonly from: readonly Item['state'][];
  readonly to: Item['state'];
  /** Whether it moves all deliveries to the agent, or only one. */
  readonly all?: true;
  readonly run: (tx: Tx, item: Item) => Promise<number>;
}

/** 1 if the change matched a row; otherwise it throws, at the latest when something is read after it. */
async function once(tx: Tx, change: Promise<void>): Promise<number> {
  await change;
  await tx.nodes.getNode({ id: 'none' });
  return 1;
}

async function ended(tx: Tx, { runId }: Item, state: 'acknowledged' | 'dead'): Promise<number> {
  const carried = await tx.deliveries.listCarried({ runId });
  await tx.deliveries.endCarried({ runId, state });
  return carried.length;
}

/** The allowed transitions of a delivery: forward, except that an injected one can be returned. */
const moves = {
  inject: { from: ['pending'], to: 'injected', run: (tx, item) => once(tx, tx.deliveries.injectDelivery(item)) },
  return: { from: ['injected'], to: 'pending', run: (tx, item) => once(tx, tx.deliveries.returnDelivery(item)) },
  acknowledge: {
    from: ['pending', 'injected'],
    to: 'acknowledged',
    run: (tx, item) => once(tx, tx.deliveries.acknowledgeDelivery(item)),
  },
  acknowledgePending: {
    from: ['pending'],
    to: 'acknowledged',
    run: async (tx, item) => {
      const pending = await tx.deliveries.listPendingRecipients(item);
      await tx.deliveries.acknowledgePending(item);
      return pending.length;
    },
  },
  kill: { from: ['pending'], to: 'dead', run: (tx, item) => tx.deliveries.killPendingDelivery(item) },
  killAll: {
    from: ['pending', 'injected'],
    to: 'dead',
    all: true,
    run: (tx, item) => tx.deliveries.killDeliveriesTo(item),
  },
  complete: {
    from: ['injected'],
    to: 'acknowledged',
    all: true,
    run: (tx, item) => ended(tx, item, 'acknowledged'),
  },
  fail: {
    from: ['injected'],
    to: 'dead',
    all: true,
    run: (tx, item) => ended(tx, item, 'dead'),
  },
} satisfies Record<string, Move>;

interface Step {
  readonly action: keyof typeof moves | 'close';
  readonly item: number;
  /** The writer performs the step and then throws. */
  readonly fails: boolean;
}

const ITEMS = 6;
const steps = fc.array(
  fc.record<Step>({
    action: fc.constantFrom('close', ...(Object.keys(moves) as (keyof typeof moves)[])),
    item: fc.nat(ITEMS - 1),
    fails: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  }),
  { minLength: 10, maxLength: 60 },
);

export function testInvariants(kit: StoreKit): void {
  const { read, write, shared } = kit;
  test('a request closes once; a delivery only moves forward, unless it is returned', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const items = await write(createItems);
        const outcomes: Promise<number>[] = [];
        for (const step of sequence) {
          const outcome = write((tx) => perform(tx, items[step.item] as Item, step));
          // Only SQLite's writers are in the order of their arrival.
          if (kit.store.engine === 'postgres') await outcome.catch(() => {});
          outcomes.push(outcome);
        }
        const changed = (await Promise.allSettled(outcomes)).map((one) =>
          one.status === 'fulfilled' ? one.value : changedBy(one.reason as Error),
        );
        expect(changed).toEqual(sequence.map((step) => predict(items, step)));
        for (const item of items) await expectInStore(item);
      }),
      { numRuns: shared ? 8 : 40 },
    );
  });

  async function expectInStore({ messageId, agentId, runId, state, open }: Item): Promise<void> {
    await read(async (tx) => {
      const [pending, carried, ofRun] = [
        await tx.deliveries.listPending({ agentId, limit: ITEMS }),
        await tx.deliveries.listCarried({ runId }),
        await tx.deliveries.listDeliveriesOfRun({ runId }),
      ].map((views) => views.find((view) => view.messageId === messageId));
      expect(pending?.state).toBe(state === 'pending' ? state : undefined);
      expect(carried?.state).toBe(state === 'injected' ? state : undefined);
      if (ofRun) expect(ofRun.state).toBe(state);
      expect((await tx.requests.getRequest({ id: messageId }))?.state).toBe(open ? 'open' : 'closed');
    });
  }
}

/** A change that matched nothing, or what a failing writer says. */
function changedBy(error: Error & { readonly code?: string }): number {
  return error.code === 'not_found' ? 0 : Number(error.message);
}

/** Requests to two agents that both have a run. */
async function createItems(tx: Tx): Promise<Item[]> {
  const items: Item[] = [];
  for (let i = 0; i < 2; i++) {
    const agent: Agent = await addAgent(tx);
    const { id: agentId, treeId, nodeId } = agent;
    const run: Run = await tx.runs.insertOpenRun({ agentId, treeId, nodeId, incarnation: 'i', now: 0 });
    for (let n = 0; n < ITEMS / 2; n++) {
      const messageId = await send(tx, { to: agent, kind: 'request' });
      items.push({ messageId, agentId, runId: run.id, state: 'pending', open: true });
    }
  }
  return items;
}

/** The number of changed rows; a failing writer reports it in its error. */
async function perform(tx: Tx, item: Item, { action, fails }: Step): Promise<number> {
  const changed =
    action === 'close'
      ? Number((await tx.requests.tryCloseRequest({ id: item.messageId, at: 1 })) !== null)
      : await moves[action].run(tx, item);
  if (fails) throw new Error(String(changed));
  return changed;
}

function predict(items: readonly Item[], { action, item: index, fails }: Step): number {
  const item = items[index] as Item;
  if (action === 'close') {
    const changed = Number(item.open);
    if (!fails) item.open = false;
    return changed;
  }
  const { from, to, all }: Move = moves[action];
  const moved = items.filter((one) => (all ? one.agentId === item.agentId : one === item) && from.includes(one.state));
  if (!fails) for (const one of moved) one.state = to;
  return moved.length;
}
