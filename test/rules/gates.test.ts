import { describe, expect, test } from 'vitest';
import { until } from '../helpers/until.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const TOOLS = ['control', 'send_message', 'check_inbox'];

/** A lead that does one thing per message of a person, and its child w, which notes what it reads. */
async function team(options: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld(options);
  const lead = await world.create('lead', null, { tools: TOOLS });
  await world.create('w', lead);
  const read: string[] = [];
  const told: string[] = [];
  const results: unknown[] = [];
  let act: (turn: WorldTurn) => Promise<unknown> = async () => null;
  world.behave('lead', async (turn) => {
    const { messages } = turn;
    told.push(...messages.filter(({ kind }) => kind === 'notice').map(({ text }) => text));
    if (messages.some(({ text }) => text === 'go')) results.push(await act(turn).catch(String));
    return 'done';
  });
  world.behave('w', ({ messages }) => {
    read.push(messages.map(({ text }) => text).join());
    return 'done';
  });
  const go = async (what: (turn: WorldTurn) => Promise<unknown>) => {
    act = what;
    await world.ask('lead', 'go');
    await world.settle();
    return results.at(-1);
  };
  const call = (tool: string, args: object = { agent_name: 'w' }) => go((turn) => turn.call(tool, args));
  const write = async (text: string) => {
    await world.ask('w', text);
    await world.settle();
  };
  return { world, read, told, go, call, write };
}

describe('a gate', () => {
  test('holds everything, also what people write; ungate lets it through', async () => {
    const { world, read, call, write } = await team();
    expect(await call('gate')).toEqual({ status: 'gated' });
    await write('one');
    await write('two');
    expect(read).toEqual([]);
    expect(world.scheduler().liveRuns()).toEqual([]);
    expect(await call('ungate')).toEqual({ status: 'ungated' });
    expect(read).toEqual(['one', 'two']);
    expect(await call('ungate')).toMatch(/w is not gated/);
  });

  test('permit_turn lets exactly one turn through', async () => {
    const { read, call, write } = await team();
    await call('gate');
    expect(await call('permit_turn')).toMatch(/Nothing waits for w/);
    await write('one');
    await write('two');
    expect(await call('permit_turn')).toEqual({ status: 'permitted' });
    expect(read).toEqual(['one']);
    expect(await call('permit_turn')).toEqual({ status: 'permitted' });
    expect(read).toEqual(['one', 'two']);
    expect(await call('permit_turn')).toMatch(/Nothing waits/);
  });

  test('permit_turn given twice before the turn begins lets one turn through', async () => {
    const { read, call, go, write } = await team({ slots: 1 });
    await call('gate');
    await write('one');
    await write('two');
    const permitted = await go(async (turn) => [
      await turn.call('permit_turn', { agent_name: 'w' }),
      await turn.call('permit_turn', { agent_name: 'w' }),
    ]);
    expect(permitted).toEqual([{ status: 'permitted' }, { status: 'permitted' }]);
    expect(read).toEqual(['one']);
  });

  test('a begun turn that fails is tried again behind the gate', async () => {
    const { world, read, call, write } = await team();
    await call('gate');
    let attempts = 0;
    world.behave('w', ({ messages }) => {
      attempts += 1;
      if (attempts === 1) throw new Error('it broke');
      read.push(messages.map(({ text }) => text).join());
      return 'done';
    });
    await write('one');
    await call('permit_turn');
    await world.pass(60_000);
    await world.settle();
    expect({ attempts, read }).toEqual({ attempts: 2, read: ['one'] });
  });

  test('a run that waited when the gate closed does not begin', async () => {
    const { world, read, call } = await team({ slots: 1 });
    const slot = Promise.withResolvers<string>();
    await world.create('busy');
    world.behave('busy', () => slot.promise);
    await world.ask('busy', 'work');
    await until('the only slot is taken', () => world.scheduler().liveRuns().length === 1);
    await world.ask('w', 'one');
    const { id } = await world.agentNamed('w');
    await world.store.write((tx) => tx.agents.setGate({ id, at: world.clock() }));
    slot.resolve('done');
    await world.settle();
    expect(read).toEqual([]);
    await call('permit_turn');
    expect(read).toEqual(['one']);
  });

  test('its holder is told once that something waits, and cannot wait for the gated child itself', async () => {
    const { world, told, call, write } = await team();
    await call('gate');
    const sync = await call('send_message', { recipient: 'w', text: 'do it' });
    expect(sync).toMatch(/gated.*permit_turn.*ungate/s);
    const news = await call('send_message', { recipient: 'w', text: 'do it', sync: false });
    expect(news).toMatchObject({ status: 'sent', recipient_state: 'gated' });
    await write('one');
    await write('two');
    await world.pause('w');
    const toPaused = await call('send_message', { recipient: 'w', text: 'do it', sync: false });
    expect(toPaused).toMatchObject({ recipient_state: 'paused' });
    expect(told).toEqual([expect.stringMatching(/^w is gated and a request or reply waits for it/)]);
  });

  test('does not hold up a channel', async () => {
    const { world, read, call } = await team();
    await world.create('x');
    world.behave('x', ({ messages }) => {
      read.push(`x: ${messages.map(({ text }) => text).join()}`);
      return '';
    });
    await call('gate');
    await world.channel('general', ['w', 'x']);
    await world.say('general', 'hello');
    await world.say('general', 'again');
    await world.settle();
    // In one turn or in two.
    expect(read.map((heard) => heard.replace('x: ', '')).join()).toBe('hello,again');
    await call('ungate');
    expect(read.at(-1)).toBe('hello,again');
  });

  test('only a direct parent steers, and only with the tools in its scope', async () => {
    const { world, call } = await team();
    const plain = await world.create('plain');
    await world.create('kid', plain);
    expect(await call('gate', { agent_name: 'kid' })).toMatch(/not one of your children/);
    let result: unknown;
    world.behave('plain', async (turn) => {
      result = await turn.callRaw('gate', { agent_name: 'kid' });
      return '';
    });
    await world.ask('plain', 'go');
    await world.settle();
    expect(result).toBeNull();
  });

  test('the owner opens it by resuming the agent', async () => {
    const { world, read, call, write } = await team();
    await call('gate');
    await write('one');
    await world.resume('w');
    await world.settle();
    expect(read).toEqual(['one']);
  });
});
