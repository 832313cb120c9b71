import { describe, expect, test } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import { deleteChannel } from '../../src/messaging/deletion.ts';
import { deleteMessage } from '../../src/messaging/edit.ts';
import { removeMember } from '../../src/messaging/members.ts';
import { NODE } from '../../src/store/store.testkit.ts';
import { createOffice } from '../helpers/office.ts';
import type { WorldTurn } from '../helpers/world.ts';

describe("a person's post", () => {
  test('wakes the members one after another, in order of joining, each seeing what the earlier ones wrote', async () => {
    const { world, turns, order } = await createOffice(['cleo', 'ann', 'ben']);
    await world.say('general', 'Good morning!');
    await world.settle();
    expect(order()).toEqual(['cleo', 'ann', 'ben']);
    expect(await world.said('general')).toEqual([
      'user: Good morning!',
      'cleo: cleo was here',
      'ann: ann was here',
      'ben: ben was here',
    ]);
    expect(turns[0]?.prompt).toMatch(/^Message from USER in #general \(message .*\):\nGood morning!$/);
    expect(turns[2]?.prompt.replaceAll(/ \(message .*?\)/g, '')).toBe(
      'Message from USER in #general:\nGood morning!\n\nAlso said by cleo in #general:\ncleo was here\n\nAlso said by ann in #general:\nann was here',
    );
    expect(turns[2]?.messages.map(({ kind }) => kind)).toEqual(['news', 'context', 'context']);
  });

  test('to twenty agents starts twenty runs, in the stored order, with any number of slots', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `a${i}`);
    const { world, order } = await createOffice(names, { slots: 20 });
    await world.say('general', 'Hello, all!');
    await world.settle();
    expect(order()).toEqual(names);
    expect(await world.store.read((tx) => tx.rounds.listPlaces({ channelId: 'general', now: world.clock() }))).toEqual(
      [],
    );
  });

  test("wakes according to each member's setting", async () => {
    const { world, order } = await createOffice();
    await world.wake('general', 'ann', 'mentions');
    await world.wake('general', 'ben', 'none');
    await world.say('general', 'for all');
    await world.settle();
    expect(order()).toEqual(['cleo']);
    await world.say('general', 'for @Ann, and @ben too');
    await world.settle();
    expect(order()).toEqual(['cleo', 'ann', 'cleo']);
  });

  test('wakes an agent that waits for a reply', async () => {
    const { world, order } = await createOffice(['ann', 'ben']);
    const child = await world.create('slow', await world.agentNamed('ann'), { provider: 'external' });
    world.behave('ann', async (turn) => {
      if (turn.messages.some(({ kind }) => kind === 'request')) {
        await turn.call('send_message', { recipient: child.name, text: 'how long?' });
      } else {
        await turn.call('send_message', { channelId: 'general', text: 'ann, though waiting' });
      }
      return '';
    });
    await world.ask('ann', 'ask slow');
    await world.settle();
    await world.say('general', 'anybody?');
    await world.settle();
    expect(await world.said('general')).toContain('ann: ann, though waiting');
    expect(order()).toEqual(['ben']);
  });

  test('that comes later joins runs that have not started, and is delivered again after those that have', async () => {
    const { world, turns } = await createOffice(['ann', 'ben'], { slots: 1 });
    const { promise: reading, resolve: read } = Promise.withResolvers<void>();
    const { promise: go, resolve: goOn } = Promise.withResolvers<void>();
    world.behave('ann', async (turn) => {
      turns.push(turn);
      read();
      await go;
      return '';
    });
    await world.say('general', 'first');
    await world.tick();
    await reading;
    await world.say('general', 'second');
    goOn();
    await world.settle();
    const heard = turns.map(({ name, messages }) => [
      name,
      ...messages.filter(({ kind }) => kind === 'news').map(({ text }) => text),
    ]);
    expect(heard).toEqual([
      ['ann', 'first'],
      ['ben', 'first', 'second'],
      ['ann', 'second'],
    ]);
  });

  test('skips a member that cannot run now, and reaches it at the end', async () => {
    const { world, order } = await createOffice();
    let limited = true;
    world.behave('ann', async (turn) => {
      if (limited) return { failure: 'rate_limit', retryAfterMs: 60_000 };
      await turn.call('send_message', { channelId: 'general', text: 'ann at last' });
      return '';
    });
    await world.say('general', 'Hello?');
    await world.settle();
    expect(order()).toEqual(['ben', 'cleo']);
    limited = false;
    await world.pass(61_000);
    await world.settle();
    expect((await world.said('general')).at(-1)).toBe('ann: ann at last');
    await world.say('general', 'Again?');
    await world.settle();
    expect(order()).toEqual(['ben', 'cleo', 'ben', 'cleo']);
    expect((await world.said('general')).filter((line) => line === 'ann: ann at last')).toHaveLength(2);
  });

  test('reaches idle members before busy ones', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo'], { slots: 3 });
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    let busy = true;
    world.behave('ann', async (turn) => {
      if (turn.messages[0]?.kind === 'request') return hold;
      busy = false;
      await turn.call('send_message', { channelId: 'general', text: 'ann at last' });
      return '';
    });
    await world.ask('ann', 'work');
    while ((await world.view('ann')).running === 0) await world.tick();
    await world.say('general', 'Hello?');
    await expect.poll(order, { timeout: 10_000 }).toEqual(['ben', 'cleo']);
    expect(busy).toBe(true);
    resolve('done');
    await world.settle();
    expect(order()).toEqual(['ben', 'cleo']);
    expect((await world.said('general')).at(-1)).toBe('ann: ann at last');
  });

  /** What each of these posts causes while ann and ben cannot run, without any time passing. */
  async function postPastTheUnable(world: Awaited<ReturnType<typeof createOffice>>['world'], order: () => string[]) {
    for (const text of ['one', 'two', 'three']) {
      await world.say('general', text);
      await world.settle();
    }
    expect(order()).toEqual(['cleo', 'cleo', 'cleo']);
    const turns = await world.store.read((tx) => tx.rounds.listPlaces({ channelId: 'general', now: world.clock() }));
    expect(turns.map(({ state, able }) => ({ state, able }))).toEqual([
      { state: 'waiting', able: false },
      { state: 'waiting', able: false },
    ]);
  }

  test('skips resting members immediately, post after post, and reaches them when they can run', async () => {
    const { world, turns, order } = await createOffice();
    for (const name of ['ann', 'ben']) {
      const { id } = await world.agentNamed(name);
      const until = world.clock() + (name === 'ann' ? 1_000_000 : 2_000_000);
      await world.store.write((tx) => tx.agents.restAgent({ id, until, rests: 1 }));
    }
    await postPastTheUnable(world, order);
    await world.pass(1_000_001);
    await world.settle();
    expect(order()).toEqual(['cleo', 'cleo', 'cleo', 'ann']);
    await world.pass(1_000_001);
    await world.settle();
    expect(order()).toEqual(['cleo', 'cleo', 'cleo', 'ann', 'ben']);
    const heard = (turn: WorldTurn | undefined) =>
      turn?.messages.filter(({ kind }) => kind === 'news').map(({ text }) => text);
    expect(heard(turns[3])).toEqual(['one', 'two', 'three']);
    expect(heard(turns[4])).toEqual(['one', 'two', 'three']);
  });

  test('skips members whose node is unknown', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo'], { lost: ['ann', 'ben'] });
    await world.store.write((tx) =>
      tx.nodes.registerNode({ ...NODE, id: 'node-1', incarnation: null, clockAt: world.clock() }),
    );
    await postPastTheUnable(world, order);
    await world.store.write((tx) => tx.nodes.adoptNode({ from: 'lost', to: 'node-1' }));
    await world.settle();
    expect(order()).toEqual(['cleo', 'cleo', 'cleo', 'ann', 'ben']);
  });

  test('skips members whose node is lost or drains, until it is back', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo'], { lost: ['ann', 'ben'] });
    const register = (id: string) =>
      world.store.write((tx) => tx.nodes.registerNode({ ...NODE, id, incarnation: null, clockAt: world.clock() }));
    await register('node-1');
    await register('lost');
    const able = async () => {
      const turns = await world.store.read((tx) => tx.rounds.listPlaces({ channelId: 'general', now: world.clock() }));
      return turns.map((turn) => turn.able);
    };
    await world.store.write((tx) => tx.nodes.setDraining({ id: 'lost', at: 1 }));
    await postPastTheUnable(world, order);
    await world.store.write((tx) => tx.nodes.setDraining({ id: 'lost', at: null }));
    expect(await able()).toEqual([true, true]);
    const node = await world.store.read((tx) => tx.nodes.getNode({ id: 'lost' }));
    const seenAt = node?.seenAt ?? 0;
    await world.store.write((tx) => tx.nodes.tryLoseNode({ id: 'lost', seenAt, now: world.clock() }));
    expect(await able()).toEqual([false, false]);
  });

  test('skips a member whose turn times out, whatever it does', async () => {
    const { world, order } = await createOffice();
    world.behave('ann', () => new Promise<string>(() => {}));
    await world.say('general', 'Hello?');
    await world.tick();
    expect(order()).toEqual([]);
    await world.pass(61_000);
    await expect.poll(order, { timeout: 10_000 }).toEqual(['ben', 'cleo']);
  });

  test('continues when the previous member fails for good, is cancelled, leaves or ends', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo', 'dan', 'eve']);
    world.behave('ann', () => ({ failure: 'crash' }));
    const { promise: begun, resolve: begin } = Promise.withResolvers<string>();
    world.behave('ben', ({ runId }) => {
      begin(runId);
      return new Promise<string>(() => {});
    });
    await world.say('general', 'Hello?');
    const ann = await world.agentNamed('ann');
    await world.tick();
    for (let i = 0; i < 3; i++) {
      await world.scheduler().settled(ann.id);
      await world.pass(50_000);
    }
    const runId = await begun;
    const general = await world.store.read((tx) => tx.channels.getChannel({ id: 'general' }));
    const { id } = await world.agentNamed('cleo');
    await world.store.write((tx) => removeMember(tx, general as NonNullable<typeof general>, 'user', id, 1));
    await world.terminate('dan');
    await world.cancel(runId);
    await world.settle();
    expect(order()).toEqual(['eve']);
    expect(await world.store.read((tx) => tx.rounds.listPlaces({ channelId: 'general', now: world.clock() }))).toEqual(
      [],
    );
  });

  test('that is deleted is not delivered to members that have not read it', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo']);
    world.behave('ann', async () => {
      await world.store.write((tx) => deleteMessage(tx, 'user', id, 1));
      return '';
    });
    const id = await world.say('general', 'Oops');
    await world.settle();
    expect(order()).toEqual([]);
    expect(await world.store.read((tx) => tx.rounds.listPlaces({ channelId: 'general', now: world.clock() }))).toEqual(
      [],
    );
    await world.say('general', 'Now really');
    await world.settle();
  });

  test('in a channel that is deleted reaches nobody else; a turn that has read it must end first', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo']);
    const general = (await world.store.read((tx) => tx.channels.getChannel({ id: 'general' }))) as Channel;
    const remove = () => world.store.write((tx) => deleteChannel(tx, general, world.clock()));
    let refusal = '';
    world.behave('ann', async () => {
      refusal = await remove().then(String, (error: Error) => error.message);
      return '';
    });
    await world.pause('ben');
    await world.say('general', 'Hello?');
    await world.settle();
    expect(refusal).toContain('ann is reading #general at this moment');
    // Ben, who is paused, has not read it, and the others have answered.
    expect(order()).toEqual(['cleo']);
    expect(await remove()).toEqual({ messages: 2 });
    await world.resume('ben');
    await world.settle();
    expect(order()).toEqual(['cleo']);
    await expect(world.say('general', 'Anybody?')).rejects.toThrow();
  });

  test('keeps the stored order after the daemon died between two turns, and nobody answers twice', async () => {
    const { world, order } = await createOffice(['ann', 'ben', 'cleo']);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    let crashed = false;
    world.behave('ben', async (turn) => {
      await turn.call('send_message', { channelId: 'general', text: 'ben was here' });
      begin();
      return crashed ? '' : new Promise<string>(() => {});
    });
    await world.say('general', 'Hello?');
    await world.tick();
    await begun;
    crashed = true;
    await world.crash();
    await world.settle();
    expect(order()).toEqual(['ann', 'cleo']);
    expect(await world.said('general')).toEqual([
      'user: Hello?',
      'ann: ann was here',
      'ben: ben was here',
      'cleo: cleo was here',
    ]);
  });

  test("resets the run counts of its readers' trees", async () => {
    const { world, order } = await createOffice(['ann'], { maxTreeRuns: 1 });
    for (const text of ['one', 'two', 'three']) {
      await world.say('general', text);
      await world.settle();
    }
    expect(order()).toEqual(['ann', 'ann', 'ann']);
  });
});
