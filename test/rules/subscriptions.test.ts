import { describe, expect, test } from 'vitest';
import { createFamily } from '../helpers/family.ts';

/** The lead watches w. What it is told of w's states is in `told`. */
async function watched(transition: string, more: object = {}) {
  const family = await createFamily();
  const { call } = family;
  const result = (await call('subscribe', { agent_name: 'w', transition, ...more })) as Record<string, string>;
  const notices = () => family.told.filter(({ kind }) => kind === 'notice').map(({ text }) => text);
  const write = async (text = 'work') => {
    await family.world.ask('w', text);
    await family.world.settle();
  };
  return { ...family, result, notices, write };
}

describe('subscribe', () => {
  test('tells of the transitions that it names, until it is ended', async () => {
    const { result, notices, write, call } = await watched('busy->idle');
    expect(result).toEqual({ subscription_id: expect.any(String), status: 'active' });
    await write();
    await write();
    expect(notices()).toEqual(['[state] w: busy -> idle', '[state] w: busy -> idle']);
    expect(await call('unsubscribe', { subscription_id: result.subscription_id })).toEqual({ status: 'unsubscribed' });
    await write();
    expect(notices()).toHaveLength(2);
    expect(await call('unsubscribe', { subscription_id: result.subscription_id })).toMatch(/no subscription/);
  });

  test('once ends with the first notice, which survives a restart', async () => {
    const { world, notices, write, lead } = await watched('*->busy', { once: true });
    await world.crash();
    await write();
    await write();
    expect(notices()).toEqual(['[state] w: idle -> busy']);
    expect(await world.store.read((tx) => tx.subscriptions.listSubscriptions({ agentId: lead.id }))).toEqual([]);
  });

  test('an attempt that is tried again is not a transition, and a failed run ends', async () => {
    const { world, notices, write } = await watched('busy->*');
    let attempts = 0;
    world.behave('w', () => {
      attempts += 1;
      throw new Error('it broke');
    });
    await write();
    expect({ attempts, notices: notices() }).toEqual({ attempts: 1, notices: [] });
    for (let i = 0; i < 3; i++) {
      await world.pass(60_000);
      await world.settle();
    }
    expect({ attempts, notices: notices() }).toEqual({ attempts: 3, notices: ['[state] w: busy -> idle'] });
  });

  test('an agent that asked waits, and is idle when its last request is closed', async () => {
    const { world, w, notices, write } = await watched('*->*');
    await world.create('kid', w);
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    world.behave('kid', async () => {
      await answered;
      return 'yes';
    });
    world.behave('w', async (turn) => {
      if (turn.messages.some(({ text }) => text === 'work'))
        await turn.call('send_message', { recipient: 'kid', text: 'ok?' });
      return '';
    });
    await world.ask('w', 'work');
    while ((await world.view('w')).asking === 0 || (await world.view('w')).running > 0) await world.tick();
    while (notices().at(-1) !== '[state] w: busy -> waiting') await world.tick();
    resolve();
    await world.settle();
    // Those that were not read yet became one.
    expect(notices().at(-1)).toBe('[state] w: busy -> idle');
    expect(notices().every((text) => /^\[state\] w: \w+ -> \w+$/.test(text))).toBe(true);
    void write;
  });

  test('the closing of its last request alone is told as well', async () => {
    const { world, w, notices } = await watched('waiting->idle');
    await world.create('kid', w);
    world.behave('kid', () => new Promise(() => {}));
    world.behave('w', async (turn) => {
      if (turn.messages.some(({ text }) => text === 'work'))
        await turn.call('send_message', { recipient: 'kid', text: 'ok?' });
      return '';
    });
    await world.ask('w', 'work');
    while ((await world.view('w')).asking === 0 || (await world.view('w')).running > 0) await world.tick();
    await world.terminate('kid');
    await world.settle();
    expect(notices()).toEqual(['[state] w: waiting -> idle']);
  });

  test('unread notices about one agent are one, the newest', async () => {
    const { world, lead, told, write } = await watched('*->*');
    await world.pause('lead');
    await write();
    await write();
    expect(await world.store.read((tx) => tx.deliveries.listPendingHeads({ agentId: lead.id, limit: 9 }))).toHaveLength(
      1,
    );
    await world.resume('lead');
    await world.settle();
    expect(told).toEqual([{ kind: 'notice', text: '[state] w: busy -> idle' }]);
  });

  test('a turn that only a reminder started is not told about', async () => {
    const { world, notices, write } = await watched('*->*');
    const turns: string[] = [];
    world.behave('w', async (turn) => {
      turns.push(turn.messages.map(({ kind }) => kind).join());
      if (turns.length === 1) await turn.call('remind_me', { reason: 'look', timeout: 60, every: 60 });
      return '';
    });
    await write();
    const before = notices().length;
    for (let i = 0; i < 3; i++) {
      await world.pass(60_000);
      await world.settle();
    }
    expect(turns).toEqual(['request', 'notice', 'notice', 'notice']);
    expect(notices()).toHaveLength(before);
  });

  test('two agents that watch each other do not keep each other going', async () => {
    const { world, w, call, lead } = await createFamily();
    await world.change('w', { tools: ['subscribe', 'send_message'] });
    const turns: string[] = [];
    world.behave('w', async (turn) => {
      turns.push(turn.messages.map(({ kind }) => kind).join());
      if (turn.messages.some(({ text }) => text === 'watch')) {
        await turn.call('subscribe', { agent_name: 'lead', transition: '*->*' });
      }
      return '';
    });
    await world.ask('w', 'watch');
    await world.settle();
    await call('subscribe', { agent_name: 'w', transition: '*->*' });
    for (let i = 0; i < 5; i++) await world.settle();
    const before = turns.length;
    expect(before).toBeLessThan(6);
    await world.ask('w', 'work');
    for (let i = 0; i < 5; i++) await world.settle();
    expect(turns.length - before).toBeLessThan(4);
    const { runsSincePerson } = (await world.store.read((tx) => tx.trees.getTree({ id: lead.treeId }))) ?? {};
    expect(runsSincePerson).toBeLessThan(8);
    void w;
  });

  test('at the limit of chains, what only notices led to starts no turn', async () => {
    const { world, lead } = await createFamily();
    await world.create('x', lead);
    const depths: number[] = [];
    const errors: string[] = [];
    let heard = 0;
    world.behave('x', () => {
      heard += 1;
      return '';
    });
    world.behave('w', async (turn) => {
      const run = await world.store.read((tx) => tx.runs.getRun({ id: turn.runId }));
      depths.push(run?.chainDepth ?? -1);
      await turn.call('remind_me', { reason: 'again', timeout: 60 });
      await turn.call('send_message', { recipient: 'x', text: 'hi', sync: false });
      if (depths.length > 2)
        await turn.call('send_message', { recipient: 'x', text: 'hi?' }).catch((error) => errors.push(String(error)));
      return '';
    });
    await world.ask('w', 'go');
    await world.settle();
    for (let i = 0; i < 2; i++) {
      await world.pass(60_000);
      await world.settle();
    }
    expect({ depths, heard }).toEqual({ depths: [0, 2, 4], heard: 2 });
    expect(errors).toEqual([expect.stringContaining('cap_reached')]);
  });

  test('the end of an agent is told, and ends its subscriptions and those about it', async () => {
    const { world, w, lead, notices } = await watched('*->terminated');
    world.behave('w', () => new Promise(() => {}));
    await world.ask('w', 'work');
    await world.tick();
    await world.terminate('w');
    await world.settle();
    expect(notices()).toEqual(['[state] w: busy -> terminated']);
    const left = await world.store.read(async (tx) => [
      ...(await tx.subscriptions.listSubscribers({ subjectId: w.id })),
      ...(await tx.subscriptions.listSubscriptions({ agentId: lead.id })),
    ]);
    expect(left).toEqual([]);
  });

  test('the same twice is one; an agent has at most 32, about agents one hop away', async () => {
    const { world, w, lead, go, call } = await createFamily();
    await world.create('kid', w);
    for (let i = 0; i < 32; i++) await world.create(`c${i}`, lead);
    const outcome = await go(async (turn) => {
      const one = await turn.call('subscribe', { agent_name: 'w', transition: 'busy->idle' });
      expect(await turn.call('subscribe', { agent_name: 'w', transition: ' busy -> idle ' })).toEqual(one);
      for (let i = 0; i < 31; i++) await turn.call('subscribe', { agent_name: `c${i}`, transition: 'busy->idle' });
      return turn.call('subscribe', { agent_name: 'c31', transition: 'busy->idle' });
    });
    expect(outcome).toMatch(/cap_reached.*32/);
    expect(await call('subscribe', { agent_name: 'kid', transition: 'busy->idle' })).toMatch(/not_found/);
  });

  test.each(['', 'busy', 'busy->', 'idle->idle', 'terminated->idle', 'a->b', 'idle->busy->idle'])(
    'refuses %j',
    async (transition) => {
      const { result } = await watched(transition);
      expect(result).toMatch(/is not a transition/);
    },
  );
});
