import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const setScope = (world: Awaited<ReturnType<typeof createWorld>>, id: string, tools: string[] | null) =>
  world.store.write((tx) => tx.agents.setScope({ id, tools }));

describe('a narrowed scope', () => {
  /** A grandchild in the middle of its turn, with a script tool in addition to ours. */
  async function createBusyGrandchild() {
    const pay = { paid: 0 };
    const call = async () => {
      pay.paid += 1;
      return 'paid';
    };
    const tool = { name: 'pay', description: 'Pays.', source: 'ts', input: z.strictObject({}), call } as const;
    const world = await createWorld({ customTools: [tool] });
    const lead = await world.create('lead');
    const middle = await world.create('middle', lead);
    await world.create('end', middle);
    const { promise: begun, resolve: begin } = Promise.withResolvers<WorldTurn>();
    const { promise: hold, resolve: end } = Promise.withResolvers<string>();
    world.behave('end', (turn) => {
      begin(turn);
      return hold;
    });
    await world.ask('end', 'work');
    const turn = await begun;
    return { world, lead, middle, pay, turn, end };
  }

  test('of an ancestor applies from the next call of a running turn, for built-in tools and scripts', async () => {
    const { world, lead, turn, pay, end } = await createBusyGrandchild();
    await turn.call('store_memory', { content: 'one' });
    expect(await turn.call('pay')).toEqual({ result: 'paid' });
    await setScope(world, lead.id, ['send_message', 'list_agents']);
    expect(await turn.callRaw('store_memory', { content: 'two' })).toBeNull();
    expect(await turn.callRaw('pay')).toBeNull();
    expect(await turn.callRaw('spawn_agent', { name: 'x', instructions: 'x' })).toBeNull();
    expect(pay.paid).toBe(1);
    await turn.call('list_agents');
    expect(await turn.call('search_memory', { query: 'one' }).catch(String)).toMatch(/unknown tool/);
    end('done');
    await world.settle();
  });

  test('of several generations is their intersection', async () => {
    const { world, lead, middle, turn, end } = await createBusyGrandchild();
    await setScope(world, lead.id, ['list_agents', 'send_message']);
    await setScope(world, middle.id, ['list_agents', 'store_memory']);
    await turn.call('list_agents');
    expect(await turn.callRaw('send_message', { recipient: 'middle', text: 'x' })).toBeNull();
    expect(await turn.callRaw('store_memory', { content: 'x' })).toBeNull();
    end('done');
    await world.settle();
  });

  test('of the agent itself that is widened applies from its next turn', async () => {
    const { world, middle, turn, end } = await createBusyGrandchild();
    await setScope(world, middle.id, ['list_agents']);
    let calls = 0;
    const second = Promise.withResolvers<void>();
    world.behave('end', async (next) => {
      await setScope(world, middle.id, ['list_agents', 'store_memory']);
      expect(await next.callRaw('store_memory', { content: 'x' })).toBeNull();
      calls += 1;
      world.behave('end', async (third) => {
        await third.call('store_memory', { content: 'x' });
        calls += 1;
        second.resolve();
        return '';
      });
      return '';
    });
    expect(await turn.callRaw('store_memory', { content: 'x' })).toBeNull();
    end('done');
    await world.ask('end', 'again');
    await world.ask('end', 'and again');
    await world.settle();
    await second.promise;
    expect(calls).toBe(2);
  });

  test('applies to children created afterwards', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const middle = await world.create('middle', lead);
    await setScope(world, lead.id, ['list_agents']);
    await expect(world.create('child', middle, { tools: ['send_message'] })).rejects.toThrow(
      'A child cannot have tools that its parent does not have: send_message.',
    );
    expect((await world.create('child', middle)).tools).toEqual(['list_agents']);
  });

  test('applies to an external agent in its open-ended run', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('me', lead, { provider: 'external' });
    const seat = await world.join('me');
    await seat.call('store_memory', { content: 'x' });
    await setScope(world, lead.id, ['list_agents']);
    expect(await seat.callRaw('store_memory', { content: 'y' })).toBeNull();
    await seat.leave();
  });
});
