import { describe, expect, test } from 'vitest';
import { resolveReference } from '../../src/messaging/reference.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

/** An agent in the middle of a turn that ends when told. */
async function createBusy(world: World, name: string) {
  const { promise: begun, resolve: begin } = Promise.withResolvers<WorldTurn>();
  const { promise: hold, resolve: end } = Promise.withResolvers<string>();
  world.behave(name, (turn) => {
    begin(turn);
    return hold;
  });
  const request = await world.ask(name, 'first words');
  return { turn: await begun, end, request };
}

/** Records what the agent's turns begin with. */
function watchTurns(world: World, name: string, answer = 'done'): WorldTurn[] {
  const turns: WorldTurn[] = [];
  world.behave(name, (turn) => {
    turns.push(turn);
    return answer;
  });
  return turns;
}

describe('settings that change', () => {
  test('apply from the next turn; the turn in progress keeps what it began with', async () => {
    const world = await createWorld();
    await world.create('x');
    const { turn, end } = await createBusy(world, 'x');
    const { changed, running } = await world.change('x', { instructions: 'Speak softly.', model: 'm2' });
    expect({ changed, running }).toEqual({
      changed: ['instructions', 'model'],
      running: { runId: turn.runId, keeps: ['instructions', 'model'] },
    });
    expect(turn.instructions).toContain('You are x.');
    end('first answer');
    await world.settle();
    const turns = watchTurns(world, 'x');
    await world.ask('x', 'again');
    await world.settle();
    expect(turns[0]?.instructions).toContain('Speak softly.');
    expect(turns[0]?.model).toBe('m2');
  });

  test('keep the session, unless the provider changes: then the next turn is told all that was said', async () => {
    const world = await createWorld();
    await world.create('x');
    const turns: WorldTurn[] = [];
    world.behave('x', async (turn) => {
      turns.push(turn);
      await turn.tell({ type: 'session', session: `s${turns.length}` });
      return `answer ${turns.length}`;
    });
    const ask = async (text: string) => {
      await world.ask('x', text);
      await world.settle();
    };
    await ask('one');
    await world.change('x', { model: 'other', role: 'boss' });
    await ask('two');
    await world.change('x', { provider: 'second' });
    await ask('three');
    await world.change('x', { provider: 'test' });
    await ask('four');
    expect(turns.map(({ session }) => session)).toEqual([null, 's1', null, 's2']);
    expect(turns[2]?.prompt).toContain('answer 1');
    expect(turns[2]?.prompt).toContain('answer 2');
    expect(turns[3]?.prompt).toContain('answer 3');
    expect(turns[3]?.prompt).not.toContain('answer 2');
  });

  test.each(['before its session', 'after its session', 'after a call'])(
    'with another provider %s of a turn lose no word',
    async (moment) => {
      const world = await createWorld();
      await world.create('x');
      const { turn, end } = await createBusy(world, 'x');
      if (moment !== 'before its session') await turn.tell({ type: 'session', session: 'old' });
      if (moment === 'after a call') await turn.call('list_agents');
      await world.change('x', { provider: 'second' });
      if (moment === 'before its session') await turn.tell({ type: 'session', session: 'old' });
      end('first answer');
      await world.settle();
      const turns = watchTurns(world, 'x');
      await world.ask('x', 'second words');
      await world.settle();
      expect(turns[0]?.session).toBeNull();
      for (const words of ['first words', 'first answer', 'second words']) expect(turns[0]?.prompt).toContain(words);
    },
  );

  test('end the turn in progress if a person wants them now; it does not count as an attempt', async () => {
    const world = await createWorld({ maxAttempts: 1 });
    await world.create('x');
    const { turn, request } = await createBusy(world, 'x');
    const turns = watchTurns(world, 'x', 'new answer');
    const { interrupted, running } = await world.change('x', { instructions: 'New.' }, { interrupt: true });
    expect({ interrupted, running }).toEqual({ interrupted: turn.runId, running: null });
    await world.settle();
    expect(turns.map(({ runId, instructions }) => [runId, instructions.includes('New.')])).toEqual([
      [turn.runId, true],
    ]);
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'new answer', count: 1 });
  });

  test('narrow a running turn at once and widen only the next one', async () => {
    const world = await createWorld();
    await world.create('x');
    const { turn, end } = await createBusy(world, 'x');
    expect((await world.change('x', { tools: ['list_agents'] })).running?.keeps).toEqual([]);
    expect(await turn.callRaw('store_memory', { content: 'x' })).toBeNull();
    expect((await world.change('x', { tools: null })).running?.keeps).toEqual(['tools']);
    expect(await turn.callRaw('store_memory', { content: 'x' })).not.toBeNull();
    end('done');
    await world.settle();
  });

  test('are refused if they give a child more than its parent has', async () => {
    const world = await createWorld();
    const lead = await world.create('lead', null, { tools: ['send_message', 'search_memory'] });
    await world.create('child', lead);
    await expect(world.change('child', { tools: ['search_memory', 'spawn_agent'] })).rejects.toThrow(
      'A child cannot have tools that its parent does not have: spawn_agent.',
    );
  });

  test('end a rest that the old model caused', async () => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', () => ({ failure: 'rate_limit', retryAfterMs: 3_600_000 }));
    const request = await world.ask('x', 'work');
    await world.settle();
    watchTurns(world, 'x', 'with the other model');
    await world.change('x', { role: 'boss' });
    await world.settle();
    expect((await world.reply(request)).state).toBe('open');
    await world.change('x', { model: 'other' });
    await world.settle();
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'with the other model' });
  });

  test('are kept in a history, with who changed them', async () => {
    const world = await createWorld();
    const { id: agentId } = await world.create('x');
    await world.change('x', { role: 'boss' });
    expect((await world.change('x', { role: 'boss' })).changed).toEqual([]);
    await world.change('x', { role: 'chief', tools: ['search_memory'] });
    const rows = await world.store.read((tx) => tx.settings.listRevisions({ agentId, before: 99, limit: 9 }));
    expect(rows.map(({ revision, by, settings }) => [revision, by, settings.role, settings.tools])).toEqual([
      [3, 'user', 'chief', ['search_memory']],
      [2, 'user', 'boss', null],
      [1, null, 'worker', null],
    ]);
    expect((await world.view('x')).revision).toBe(3);
  });
});

describe('an agent that becomes external', () => {
  test('cannot do so in a turn, unless the turn may end: then its request waits for whoever joins', async () => {
    const world = await createWorld();
    await world.create('x');
    const { request } = await createBusy(world, 'x');
    await expect(world.change('x', { provider: 'external' })).rejects.toThrow('x is in a turn.');
    expect((await world.view('x')).provider).toBe('test');
    await world.change('x', { provider: 'external' }, { interrupt: true });
    await world.settle();
    const seat = await world.join('x');
    const { messages } = (await seat.call('check_inbox')) as { messages: { message_id: string }[] };
    expect(messages.map(({ message_id }) => message_id)).toEqual([request]);
    await seat.leave();
  });

  test('hands what it rested on to whoever joins', async () => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', () => ({ failure: 'rate_limit', retryAfterMs: 3_600_000 }));
    const request = await world.ask('x', 'work');
    await world.settle();
    await world.change('x', { provider: 'external' });
    const seat = await world.join('x');
    const { messages } = (await seat.call('check_inbox')) as { messages: { message_id: string }[] };
    expect(messages.map(({ message_id }) => message_id)).toEqual([request]);
    await seat.leave();
  });

  test('and is no longer one answers what was left open', async () => {
    const world = await createWorld();
    await world.create('x', null, { provider: 'external' });
    const request = await world.ask('x', 'work');
    const seat = await world.join('x');
    await seat.call('check_inbox');
    watchTurns(world, 'x', 'by itself');
    await world.change('x', { provider: 'test' });
    await world.settle();
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'by itself' });
    expect((await seat.callRaw('check_inbox'))?.result).toMatchObject({ error: { code: 'fenced' } });
    await seat.leave();
  });
});

describe('a paused agent', () => {
  test('begins no turn, and its messages wait until it is resumed', async () => {
    const world = await createWorld();
    await world.create('x');
    const turns = watchTurns(world, 'x', 'awake');
    await world.pause('x');
    await expect(world.pause('x')).rejects.toThrow('x is paused already.');
    const request = await world.ask('x', 'hello');
    await world.settle();
    expect(turns).toHaveLength(0);
    expect((await world.view('x')).pausedReason).toBe('a break');
    await world.resume('x');
    await world.settle();
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'awake' });
  });

  test('ends the turn in progress by itself, but makes no further attempt', async () => {
    const world = await createWorld();
    await world.create('x');
    const { end, request } = await createBusy(world, 'x');
    await world.pause('x');
    world.behave('x', () => 'a second time');
    end('as before');
    await world.settle();
    expect(await world.reply(request)).toMatchObject({ text: 'as before' });
  });

  test('paused at once starts its turn again when it is resumed, and that is not a second attempt', async () => {
    const world = await createWorld({ maxAttempts: 1 });
    await world.create('x');
    const { request, turn } = await createBusy(world, 'x');
    const turns = watchTurns(world, 'x', 'after the break');
    await world.pause('x', true);
    await world.settle();
    expect(turns).toHaveLength(0);
    await world.resume('x');
    await world.settle();
    expect(turns.map(({ runId }) => runId)).toEqual([turn.runId]);
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'after the break', count: 1 });
  });

  test('that is external cannot be joined', async () => {
    const world = await createWorld();
    await world.create('me', null, { provider: 'external' });
    const seat = await world.join('me');
    await world.pause('me', true);
    expect((await seat.callRaw('list_agents'))?.result).toMatchObject({ error: { code: 'fenced' } });
    await seat.leave();
    await expect(world.join('me')).rejects.toThrow('me is paused.');
    await world.resume('me');
    await (await world.join('me')).leave();
  });
});

describe('a renamed agent', () => {
  test('keeps its handle, and its former name leads to it', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const ann = await world.create('ann', lead);
    await world.create('eve', lead);
    await world.change('ann', { name: 'Bob' });
    expect(await world.view('bob')).toMatchObject({ id: ann.id, handle: 'ann', name: 'Bob' });
    const turns = watchTurns(world, 'Bob', 'here');
    world.behave('eve', async ({ call, messages }) => {
      if (messages.some(({ kind }) => kind === 'reply')) return 'done';
      await call('send_message', { recipient: 'ann', text: 'by the old name' });
      await call('send_message', { recipient: 'bob', text: 'by the new name' });
      return 'asked';
    });
    await world.ask('eve', 'ask');
    await world.settle();
    expect(turns.flatMap(({ messages }) => messages.map(({ text }) => text)).sort()).toEqual([
      'by the new name',
      'by the old name',
    ]);
    expect(turns[0]?.instructions).toContain('You are Bob');
    const resolved = (ref: string) => world.store.read(async (tx) => (await resolveReference(tx, ref)).id);
    for (const ref of ['ann', 'Bob', 'lead/ann', 'lead/bob']) expect(await resolved(ref)).toBe(ann.id);
  });

  test('leaves its former name to nobody there as long as it lives', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const ann = await world.create('ann', lead);
    await world.create('eve', lead);
    await world.create('below', ann);
    await world.change('ann', { name: 'bob' });
    await expect(world.create('ann', lead)).rejects.toThrow('It was its name before');
    await expect(world.change('eve', { name: 'ann' })).rejects.toThrow('The name "ann" is already used');
    await expect(world.create('ann', await world.agentNamed('bob'))).rejects.toThrow('The name "ann"');
    for (const taken of ['lead', 'eve', 'below']) {
      await expect(world.change('bob', { name: taken })).rejects.toThrow(`The name "${taken}" is already used`);
    }
    await expect(world.change('bob', { name: 'no good' })).rejects.toThrow('is not a valid name');
    await world.create('ann');
    await world.change('bob', { name: 'ann' });
    await world.change('lead', { name: 'boss' });
    await expect(world.create('lead')).rejects.toThrow('The name "lead"');
    await world.terminate('boss');
    await world.create('lead');
  });
});
