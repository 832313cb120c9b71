import { describe, expect, test } from 'vitest';
import { readScript } from '../../src/scripting/open.ts';
import { openScripting } from '../../src/scripting/scripting.ts';
import { openStore } from '../../src/store/open.ts';
import { createCustomTools } from '../../src/tools/custom.ts';
import { failingAtCommit } from '../helpers/repeating-store.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

describe('a write whose commit fails changes nothing in memory', () => {
  test('a repeated call of a later attempt gets the recorded result', async () => {
    const paid: unknown[] = [];
    const store = failingAtCommit(await openStore({ path: ':memory:' }));
    const custom = await createCustomTools({
      read: () => ({ entries: [], file: null }),
      code: [{ name: 'pay', description: 'Pays', parameters: [], execute: () => paid.push('paid') }],
      reserved: [],
      scripting: openScripting(),
      env: {},
      readScript,
      knowledge: undefined,
      log: () => {},
    });
    const world = await createWorld({ store, customTools: custom.list() });
    const lead = await world.create('lead');
    await world.create('worker', lead);
    const heard: string[] = [];
    world.behave('worker', (turn) => {
      heard.push(...turn.messages.map((message) => message.text));
      return '';
    });
    const results: unknown[] = [];
    const callTwice = async (turn: WorldTurn, tool: string, args: object) => {
      if (turn.attempt > 1) {
        store.failNext();
        await expect(turn.call(tool, args)).rejects.toThrow('store: ');
      }
      results.push(await turn.call(tool, args));
    };
    world.behave('lead', async (turn) => {
      await callTwice(turn, 'send_message', { recipient: 'worker', text: 'once', sync: false });
      await callTwice(turn, 'pay', {});
      return turn.attempt === 1 ? { failure: 'crash' } : 'done';
    });
    await world.ask('lead', 'go');
    await world.settle();
    await world.pass(1000);
    await world.settle();
    expect(results).toMatchObject([{ status: 'sent' }, { result: 1 }, { repeated: true }, { repeated: true }]);
    expect(heard).toEqual(['once']);
    expect(paid).toEqual(['paid']);
    await store.close();
  });

  test('a turn whose only call failed to commit has called no tool', async () => {
    const store = failingAtCommit(await openStore({ path: ':memory:' }));
    const world = await createWorld({ store });
    await world.create('ann');
    await world.channel('general', ['ann']);
    world.behave('ann', async (turn) => {
      store.failNext();
      await expect(turn.call('list_agents')).rejects.toThrow('store: ');
      return 'silent';
    });
    await world.say('general', 'hello');
    await world.settle();
    const [run] = await store.read((tx) =>
      tx.runs.listRuns({ agentId: null, state: 'completed', before: null, limit: 9 }),
    );
    expect(run?.stopReason).toBe('no_tool_call');
    const records = await store.read((tx) => tx.records.listRecords({ runId: run?.id ?? '' }));
    expect(records.map(({ type, step }) => [type, step])).toEqual([
      ['system_message', 1],
      ['user_message', 1],
    ]);
    await store.close();
  });

  test('the first refused call is recorded if it could not be before', async () => {
    const store = failingAtCommit(await openStore({ path: ':memory:' }));
    const world = await createWorld({ store, toolCallsPerMinute: 1 });
    await world.create('ann');
    world.behave('ann', async (turn) => {
      await turn.call('list_agents');
      // The call itself is refused in its transaction; the next write records the refusal.
      let writes = 0;
      store.failNext(() => ++writes === 2);
      for (let n = 0; n < 3; n += 1) await expect(turn.call('list_agents')).rejects.toThrow('rate_limited');
      return 'done';
    });
    const id = await world.ask('ann', 'go');
    await world.settle();
    expect((await world.reply(id)).text).toBe('done');
    expect(await errorsIn(world)).toEqual(['rate_limited']);
    await store.close();
  });
});

describe('concurrent identical calls', () => {
  test('each get their own record, or take effect', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('worker', lead);
    const heard: string[] = [];
    world.behave('worker', (turn) => {
      heard.push(...turn.messages.map((message) => message.text));
      return '';
    });
    const repeated: unknown[] = [];
    world.behave('lead', async (turn) => {
      const say = () => turn.call('send_message', { recipient: 'worker', text: 'same', sync: false });
      const sent = await Promise.all(turn.attempt === 1 ? [say()] : [say(), say(), say()]);
      // On PostgreSQL any of them can be the first.
      repeated.push(sent.map((one) => one.repeated).toSorted());
      return turn.attempt === 1 ? { failure: 'crash' } : 'done';
    });
    await world.ask('lead', 'go');
    await world.settle();
    await world.pass(1000);
    await world.settle();
    expect(repeated).toEqual([[undefined], [true, undefined, undefined]]);
    expect(heard).toEqual(['same', 'same', 'same']);
  });

  test('that the rate limit refuses together are recorded once', async () => {
    const world = await createWorld({ toolCallsPerMinute: 1 });
    await world.create('ann');
    world.behave('ann', async (turn) => {
      await turn.call('list_agents');
      await Promise.allSettled(Array.from({ length: 20 }, () => turn.call('list_agents')));
      return 'done';
    });
    await world.ask('ann', 'go');
    await world.settle();
    expect(await errorsIn(world)).toEqual(['rate_limited']);
  });
});

async function errorsIn({ store }: Awaited<ReturnType<typeof createWorld>>): Promise<string[]> {
  const [run] = await store.read((tx) => tx.runs.listRuns({ agentId: null, state: null, before: null, limit: 1 }));
  const records = await store.read((tx) => tx.records.listRecords({ runId: run?.id ?? '' }));
  return records
    .filter(({ isError }) => isError)
    .map(({ content }) => (content as { error: { code: string } }).error.code);
}
