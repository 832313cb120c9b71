import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { failingAtCommit } from '../helpers/repeating-store.ts';
import { until } from '../helpers/until.ts';
import { createWorld, type WorldOptions } from '../helpers/world.ts';

async function troubledWorld(options: WorldOptions = {}) {
  const store = failingAtCommit(await openStore({ path: ':memory:' }));
  onTestFinished(() => store.close());
  return { store, world: await createWorld({ ...options, store }) };
}

describe('a failure of Substrat itself', () => {
  test.each(['EMFILE', 'ENOSPC', 'ECONNRESET'])(
    '%s does not count as an attempt; the agent rests a while',
    async (code) => {
      let troubles = 5;
      const beforeTurn = () => {
        troubles -= 1;
        if (troubles >= 0) throw Object.assign(new Error(`${code}: mcp.json`), { code });
      };
      const world = await createWorld({ maxAttempts: 1, beforeTurn });
      await world.create('x');
      world.behave('x', () => 'finally');
      const id = await world.ask('x', 'go');
      await world.settle();
      expect(troubles).toBe(4);
      for (let i = 0; i < 5; i += 1) {
        await world.pass(60_000);
        await world.settle();
      }
      expect(await world.reply(id)).toMatchObject({ text: 'finally', kind: 'reply', count: 1 });
      const events = await world.store.read((tx) => tx.events.listEvents({ after: 0, limit: 1000 }));
      // The first rests are short, and nobody is notified.
      expect(events.filter((event) => event.type === 'message_created' && event.data.kind === 'notice')).toHaveLength(
        1,
      );
    },
  );

  test('the end of a turn and its events are stored when the store is back', async () => {
    const { store, world } = await troubledWorld({ maxAttempts: 1 });
    await world.create('x');
    world.behave('x', async (turn) => {
      store.down = true;
      await turn.tell({ type: 'text', text: 'thinking' });
      setTimeout(() => {
        store.down = false;
      }, 120);
      return 'done';
    });
    const id = await world.ask('x', 'go');
    await until('the reply', async () => (await world.reply(id)).text === 'done');
    const [run] = await store.read((tx) =>
      tx.runs.listRuns({ agentId: null, state: 'completed', before: null, limit: 1 }),
    );
    const records = await store.read((tx) => tx.records.listRecords({ runId: run?.id ?? '' }));
    expect(records.map(({ type }) => type)).toEqual(['system_message', 'user_message', 'assistant_message']);
  });

  test('a stop also waits for the store to come back', async () => {
    const { store, world } = await troubledWorld();
    const { id: agentId } = await world.create('x');
    world.behave('x', (turn) => new Promise((_, reject) => turn.signal.addEventListener('abort', reject)));
    await world.ask('x', 'go');
    while ((await world.view('x')).running === 0) await world.tick();
    store.down = true;
    const stopped = world.scheduler().stop();
    setTimeout(() => {
      store.down = false;
    }, 120);
    await stopped;
    expect(await store.read((tx) => tx.runs.getLiveRun({ agentId }))).toMatchObject({ state: 'created', failures: 0 });
    world.restart();
  });
});

describe('an external agent whose leave cannot be stored', () => {
  test('is joined again in the same run', async () => {
    const { store, world } = await troubledWorld();
    await world.create('me', null, { provider: 'external' });
    const id = await world.ask('me', 'a question');
    const seat = await world.join('me');
    await seat.call('check_inbox');
    store.down = true;
    const left = seat.leave();
    const again = await world.join('me');
    expect(again.attempt.runId).toBe(seat.attempt.runId);
    store.down = false;
    await left;
    await again.call('send_message', { recipient: 'USER', text: 'the answer', in_reply_to: id });
    expect((await world.reply(id)).text).toBe('the answer');
    await again.leave();
    expect((await world.view('me')).running).toBe(0);
  });

  test('has left when the store is back, and the next client gets unanswered requests', async () => {
    const { store, world } = await troubledWorld();
    await world.create('me', null, { provider: 'external' });
    const id = await world.ask('me', 'a question');
    const seat = await world.join('me');
    await seat.call('check_inbox');
    store.down = true;
    setTimeout(() => {
      store.down = false;
    }, 120);
    await seat.leave();
    expect((await world.view('me')).running).toBe(0);
    const next = await world.join('me');
    expect(await next.call('check_inbox')).toMatchObject({ messages: [{ message_id: id }] });
    await next.leave();
  });

  test('can be joined although a forgotten run of it is open', async () => {
    const { store, world } = await troubledWorld();
    const { id: agentId, treeId } = await world.create('me', null, { provider: 'external' });
    const lost = await store.write((tx) =>
      tx.runs.insertOpenRun({ agentId, treeId, nodeId: 'node-1', incarnation: 'i', now: world.clock() }),
    );
    const seat = await world.join('me');
    await seat.call('check_inbox');
    expect(await store.read((tx) => tx.runs.getRun({ id: lost.id }))).toMatchObject({ state: 'completed' });
    await seat.leave();
  });
});
