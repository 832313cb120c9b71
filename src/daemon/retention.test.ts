import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../config/config.ts';
import { openStore } from '../store/open.ts';
import { addAgent, endRun, send, startRun } from '../store/store.testkit.ts';
import type { Store } from '../store/store.ts';
import { forgetOld } from './retention.ts';

const DAY = 86_400_000;
const NOW = 1_000 * DAY;
const MOST_CPU_MS = 50;

async function prepared() {
  const directory = mkdtempSync(join(tmpdir(), 'retention-'));
  const store = await openStore({ path: join(directory, 'x.db') });
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  const defaults = loadConfig({ cwd: directory, home: directory, env: {} });
  return { store, defaults };
}

const keeps = (ms: number | null) => ({ messagesMs: ms, runsMs: ms, runMessagesMs: ms, historyMs: ms });

/** The same store; measures the CPU time of each transaction on the main thread. */
function timing(store: Store): { store: Store; longest: () => number; count: () => number } {
  let [longest, count] = [0, 0];
  const write: Store['write'] = (work) =>
    store.write(async (tx) => {
      const begun = process.threadCpuUsage();
      const result = await work(tx);
      const { user, system } = process.threadCpuUsage(begun);
      longest = Math.max(longest, (user + system) / 1_000);
      count += 1;
      return result;
    });
  return { store: { ...store, write }, longest: () => longest, count: () => count };
}

test('much that is old goes in many short transactions, and others write in between', async () => {
  const { store, defaults } = await prepared();
  const agent = await store.write((tx) => addAgent(tx));
  for (let batch = 0; batch < 20; batch++) {
    await store.write(async (tx) => {
      for (let i = 0; i < 250; i++) {
        const id = await send(tx, { to: agent, text: 'x'.repeat(500) });
        await tx.deliveries.acknowledgeDelivery({ messageId: id, agentId: agent.id });
      }
    });
  }
  const open = await store.write((tx) => send(tx, { to: agent, kind: 'request' }));
  const timed = timing(store);
  let during = 0;
  let over = false;
  const writing = (async () => {
    for (; !over; during++)
      await store.write((tx) => tx.events.appendEvent({ type: 'agent_resumed', at: NOW, data: { agentId: 'a' } }));
  })();
  const config = { ...defaults, retention: keeps(DAY) };
  const removed = await forgetOld({ store: timed.store, config, clock: () => NOW });
  over = true;
  await writing;
  // Each message and its event.
  expect(removed).toBe(2 * 5_000 + 1);
  expect(await store.read((tx) => tx.messages.getMessage({ id: open }))).not.toBeNull();
  expect(timed.count()).toBeGreaterThan(20);
  expect(during).toBeGreaterThan(20);
  expect(timed.longest()).toBeLessThan(MOST_CPU_MS);
});

test('without settings nothing but old events and answers to posts is removed', async () => {
  const { store, defaults } = await prepared();
  const run = await store.write(async (tx) => {
    const started = await startRun(tx, await addAgent(tx));
    await endRun(tx, started);
    await tx.idempotency.insertResponse({
      participantId: 'user',
      key: 'k',
      request: 'r',
      status: 1,
      response: '',
      createdAt: 1,
    });
    return started;
  });
  const messages = () =>
    store.read((tx) => tx.messages.listChannelMessages({ channelId: `in-${run.agentId}`, before: 9e9, limit: 9 }));
  expect(await forgetOld({ store, config: defaults, clock: () => NOW })).toBe(3);
  expect(await messages()).toHaveLength(1);
  expect(await store.read((tx) => tx.runs.getRun({ id: run.id }))).not.toBeNull();
  // The deliveries that the run carries must be settled first, however old they are.
  const config = { ...defaults, retention: keeps(DAY) };
  expect(await forgetOld({ store, config, clock: () => NOW })).toBe(1);
  expect(await messages()).toHaveLength(1);
});
