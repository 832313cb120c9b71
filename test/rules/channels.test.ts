import { describe, expect, test } from 'vitest';
import { openDm, resolveChannel } from '../../src/messaging/channels.ts';
import { resolveParticipant } from '../../src/messaging/members.ts';
import { createOffice } from '../helpers/office.ts';
import { createWorld } from '../helpers/world.ts';

describe("an agent's post", () => {
  test('wakes only the agents it mentions', async () => {
    const { world, turns, order } = await createOffice();
    world.behave('ann', async (turn) => {
      turns.push(turn);
      if (turn.messages.some(({ from }) => from === 'USER')) {
        await turn.call('send_message', { channelId: 'general', text: 'What do you think, @ben?' });
      }
      return '';
    });
    await world.wake('general', 'ben', 'mentions');
    await world.wake('general', 'cleo', 'mentions');
    await world.say('general', 'Ideas?');
    await world.settle();
    expect(order()).toEqual(['ann', 'ben']);
    expect(turns[1]?.prompt).toContain('Also said by USER in #general');
    expect(turns[1]?.prompt).toMatch(/Message from ann in #general .*\nWhat do you think, @ben\?$/);
  });

  test('that mentions an agent whose turn is still to come is read in that turn', async () => {
    const { world, turns, order } = await createOffice();
    world.behave('ann', async (turn) => {
      turns.push(turn);
      await turn.call('send_message', { channelId: 'general', text: 'over to you, @cleo' });
      return '';
    });
    await world.say('general', 'Ideas?');
    await world.settle();
    expect(order()).toEqual(['ann', 'ben', 'cleo']);
    const heard = turns[2]?.messages.filter(({ kind }) => kind === 'news').map(({ from, text }) => `${from}: ${text}`);
    expect(heard).toEqual(['USER: Ideas?', 'ann: over to you, @cleo']);
  });

  test('starts no run at the maximum chain depth', async () => {
    const world = await createWorld();
    const order: string[] = [];
    for (const [name, other] of [
      ['ann', 'ben'],
      ['ben', 'ann'],
    ] as const) {
      await world.create(name);
      world.behave(name, async (turn) => {
        order.push(name);
        await turn.call('send_message', { channelId: 'general', text: `your turn, @${other}` });
        return '';
      });
    }
    await world.channel('general', ['ann', 'ben']);
    await world.wake('general', 'ben', 'mentions');
    await world.say('general', 'Go!');
    await world.settle();
    // 0 if a person's message is carried, then 1, 2 and 3: at 3 a post starts nothing any more.
    expect(order).toEqual(['ann', 'ben', 'ann', 'ben']);
    expect(await world.said('general')).toHaveLength(5);
  });

  test('in a DM wakes the other one, up to the maximum depth', async () => {
    const world = await createWorld();
    const order: string[] = [];
    const lead = await world.create('lead');
    for (const name of ['michael', 'jim']) {
      await world.create(name, lead);
      world.behave(name, async (turn) => {
        order.push(name);
        await turn.call('send_message', { channelId: 'dm-michael-jim', text: `hm, says ${name}` });
        return '';
      });
    }
    await world.ask('jim', 'talk to michael');
    await world.settle();
    expect(order).toEqual(['jim', 'michael', 'jim', 'michael']);
    expect(await world.said('dm-jim-michael')).toHaveLength(4);
  });

  test('to the asker, in their DM, is the answer', async () => {
    const world = await createWorld();
    await world.create('ann');
    world.behave('ann', async (turn) => {
      await turn.call('send_message', { channelId: 'dm-user-ann', text: 'the answer' });
      return 'not this';
    });
    const id = await world.ask('ann', 'what is it?');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ state: 'closed', text: 'the answer', count: 1 });
  });
});

describe('do_nothing', () => {
  test('posts nothing, closes a request with "(no reply)", and is recorded', async () => {
    const { world } = await createOffice(['ann']);
    world.behave('ann', async (turn) => {
      expect(await turn.call('do_nothing')).toEqual({ action: 'none' });
      return 'unheard';
    });
    const id = await world.ask('ann', 'hello?');
    await world.settle();
    await world.say('general', 'hello?');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ state: 'closed', text: '(no reply)', count: 1 });
    expect(await world.said('general')).toEqual(['user: hello?']);
    const { id: agentId } = await world.agentNamed('ann');
    const records = await world.store.read((tx) => tx.records.listRecentRecords({ agentId, limit: 50 }));
    expect(records.filter(({ tool, type }) => tool === 'do_nothing' && type === 'tool_return_message')).toHaveLength(2);
  });
});

describe('a channel id', () => {
  test('of a DM means exactly one pair, in either order, among reachable participants', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    for (const name of ['a', 'a-b', 'b-c', 'c']) await world.create(name, lead);
    await world.create('stranger');
    const results: Record<string, unknown> = {};
    world.behave('a', async (turn) => {
      for (const channelId of [
        'dm-a-c',
        'dm-c-a',
        'DM-C-A',
        'dm-a-b-c',
        'dm-a-stranger',
        'dm-user-a',
        'dm-a-a',
        'dm-',
        'x',
      ]) {
        results[channelId] = await turn.call('send_message', { channelId, text: 'hi' }).catch((e) => e.message);
      }
      return '';
    });
    world.behave('c', async (turn) => {
      if (turn.messages.some(({ from }) => from === 'USER')) {
        results['of c'] = await turn
          .call('send_message', { channelId: 'dm-a-b-c', text: 'hi' })
          .catch((e) => e.message);
      }
      return '';
    });
    await world.ask('c', 'go');
    await world.settle();
    expect(results['of c']).toEqual({ messageId: expect.any(String) });
    await world.ask('a', 'go');
    await world.settle();
    const sent = { messageId: expect.any(String) };
    expect(results).toMatchObject({
      'dm-a-c': sent,
      'dm-c-a': sent,
      'DM-C-A': sent,
      'dm-a-b-c': sent,
      'dm-user-a': sent,
    });
    for (const id of ['dm-a-stranger', 'dm-a-a', 'dm-', 'x'])
      expect(results[id]).toMatch(/^not_found: (There is no message|(Channel|Message) .* does not exist)/);
    expect(await world.said('dm-a-c')).toHaveLength(3);
  });

  test("of others' DM is found by the owner in either order", async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    for (const name of ['jim-bob', 'michael', 'jim', 'bob-michael']) await world.create(name, lead);
    const open = (a: string, b: string) =>
      world.store.write(async (tx) =>
        openDm(tx, await resolveParticipant(tx, a), await resolveParticipant(tx, b), world.clock()),
      );
    const owner = { id: 'user', handle: 'user' };
    const find = (id: string) => world.store.read(async (tx) => (await resolveChannel(tx, owner, id, null)).id);
    expect(await open('jim', 'michael')).toBe('dm-jim-michael');
    expect(await find('dm-jim-michael')).toBe('dm-jim-michael');
    expect(await find('dm-Michael-jim')).toBe('dm-jim-michael');
    await expect(find('dm-michael-jim-bob')).rejects.toThrow(/^Channel .* does not exist/);
    await open('jim-bob', 'michael');
    expect(await find('dm-michael-jim-bob')).toBe('dm-jim-bob-michael');
    const stranger = { id: lead.id, handle: 'lead' };
    await expect(world.store.read((tx) => resolveChannel(tx, stranger, 'dm-michael-jim', null))).rejects.toThrow(
      'does not exist',
    );
  });

  test('that could mean two DMs is an error that says what to use', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    // dm-x-y-x: x with y-x, or x with x-y.
    for (const name of ['x', 'y-x', 'x-y']) await world.create(name, lead);
    let answer: unknown;
    world.behave('x', async (turn) => {
      answer = await turn.call('send_message', { channelId: 'dm-x-y-x', text: 'hi' }).catch((e) => e.message);
      return '';
    });
    await world.ask('x', 'go');
    await world.settle();
    expect(answer).toMatch(/^conflict: .*more than one of your DMs.*recipient/);
  });

  test('and a recipient exclude each other, and `sync` is for recipients', async () => {
    const { world } = await createOffice(['ann']);
    const errors: string[] = [];
    world.behave('ann', async (turn) => {
      for (const args of [{}, { recipient: 'USER', channelId: 'general' }, { channelId: 'general', sync: false }]) {
        await turn.call('send_message', { text: 'x', ...args }).catch((error) => errors.push(error.message));
      }
      return '';
    });
    await world.ask('ann', 'go');
    await world.settle();
    expect(errors).toEqual([
      expect.stringMatching(/^bad_request: Set exactly one of/),
      expect.stringMatching(/^bad_request: Set exactly one of/),
      expect.stringMatching(/^bad_request: `sync` requires `recipient`/),
    ]);
  });
});

describe('a private channel', () => {
  test('cannot be read, written or reacted to by an agent that is not a member', async () => {
    const { world } = await createOffice(['ann', 'ben']);
    await world.channel('secret', ['ben'], 'private');
    await world.wake('secret', 'ben', 'none');
    const secret = await world.say('secret', 'the plan');
    const open = await world.say('general', 'nothing');
    await world.settle();
    const results: unknown[] = [];
    world.behave('ann', async (turn) => {
      const attempt = async (tool: string, args: object) =>
        results.push(await turn.call(tool, args).catch((error) => error.message));
      await attempt('read_channel', { channelId: 'secret' });
      await attempt('send_message', { channelId: 'secret', text: 'let me in' });
      await attempt('react_to_message', { messageId: secret, emoji: '👀' });
      await attempt('read_channel', { channelId: 'general', thread: secret });
      await attempt('read_channel', { channelId: 'general', before: secret });
      await attempt('send_message', { channelId: 'general', text: 'x', in_reply_to: secret });
      await attempt('react_to_message', { messageId: open, emoji: '👀' });
      await attempt('react_to_message', { messageId: open, emoji: '👀' });
      return '';
    });
    await world.ask('ann', 'spy');
    await world.settle();
    for (const refused of results.slice(0, 6))
      expect(refused).toMatch(/^not_found: (There is no message|(Channel|Message) .* does not exist)/);
    expect(JSON.stringify(results)).not.toContain('the plan');
    expect(results.slice(6)).toEqual([{ success: true }, { success: true }]);
    const events = await world.store.read((tx) => tx.events.listEvents({ after: 0, limit: 1000 }));
    expect(events.filter(({ type }) => type === 'reaction_added')).toHaveLength(1);
    expect(await world.said('secret')).toEqual(['user: the plan']);
  });
});

describe('read_channel', () => {
  test('returns the last messages, oldest first, with threads and reactions', async () => {
    const { world } = await createOffice(['ann']);
    await world.wake('general', 'ann', 'none');
    const first = await world.say('general', 'one');
    await world.say('general', 'two');
    const third = await world.say('general', 'three', first);
    const results: Record<string, unknown>[] = [];
    world.behave('ann', async (turn) => {
      await turn.call('react_to_message', { messageId: first, emoji: ':wave:' });
      results.push(await turn.call('read_channel', { channelId: 'general', limit: 2 }));
      results.push(await turn.call('read_channel', { channelId: 'general', thread: third }));
      results.push(await turn.call('read_channel', { channelId: 'general', before: third }));
      return '';
    });
    await world.ask('ann', 'read');
    await world.settle();
    const texts = results.map(({ messages }) => (messages as { text: string }[]).map(({ text }) => text));
    expect(texts).toEqual([
      ['two', 'three'],
      ['one', 'three'],
      ['one', 'two'],
    ]);
    expect((results[1] as { messages: object[] }).messages).toEqual([
      {
        messageId: first,
        from: 'user',
        text: 'one',
        createdAt: expect.stringMatching(/Z$/),
        parentMessageId: null,
        reactions: [{ emoji: ':wave:', users: ['ann'] }],
      },
      expect.objectContaining({ messageId: third, parentMessageId: first, reactions: [] }),
    ]);
  });
});

describe('the stop reason of a run', () => {
  test('is no_tool_call if a channel was read without effect, and end_turn if a reply was owed', async () => {
    const { world } = await createOffice(['ann']);
    world.behave('ann', () => 'only words');
    await world.say('general', 'hello?');
    await world.settle();
    await world.ask('ann', 'hello?');
    await world.settle();
    world.behave('ann', async (turn) => {
      await turn.call('do_nothing');
      return '';
    });
    await world.say('general', 'and now?');
    await world.settle();
    const runs = await world.store.read((tx) =>
      tx.runs.listRuns({ agentId: null, state: null, before: null, limit: 9 }),
    );
    expect(runs.map(({ stopReason, state }) => [stopReason, state])).toEqual([
      ['end_turn', 'completed'],
      ['end_turn', 'completed'],
      ['no_tool_call', 'completed'],
    ]);
  });
});
