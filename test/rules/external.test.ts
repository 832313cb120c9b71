import { describe, expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

describe('an external agent', () => {
  test('is never woken, and uses no slot', async () => {
    const world = await createWorld({ slots: 1 });
    await world.create('me', null, { provider: 'external' });
    await world.create('other');
    world.behave('other', () => 'ok');
    const seat = await world.join('me');
    await world.ask('me', 'hello');
    const id = await world.ask('other', 'go');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'ok' });
    await seat.leave();
  });

  test('gets everything from check_inbox, holds several requests and answers each by in_reply_to', async () => {
    const world = await createWorld();
    await world.create('me', null, { provider: 'external' });
    const [first, second] = [await world.ask('me', 'one?'), await world.ask('me', 'two?')];
    const seat = await world.join('me');
    expect(await seat.call('check_inbox')).toEqual({
      messages: [
        { from: 'USER', text: 'one?', message_id: first, kind: 'request' },
        { from: 'USER', text: 'two?', message_id: second, kind: 'request' },
      ],
    });
    await seat.call('send_message', { recipient: 'USER', text: 'two!', in_reply_to: second });
    await seat.call('send_message', { recipient: 'USER', text: 'one!', in_reply_to: first });
    expect(await world.reply(first)).toMatchObject({ text: 'one!' });
    expect(await world.reply(second)).toMatchObject({ text: 'two!' });
    await seat.leave();
    expect(await world.view('me')).toMatchObject({ running: 0, pending: 0 });
  });

  test('gets the replies to its questions', async () => {
    const world = await createWorld();
    const me = await world.create('me', null, { provider: 'external' });
    await world.create('helper', me);
    world.behave('helper', () => 'helped');
    const seat = await world.join('me');
    const sent = await seat.call('send_message', { recipient: 'helper', text: 'help' });
    await world.settle();
    expect(await seat.call('check_inbox')).toEqual({
      messages: [
        expect.objectContaining({ from: 'helper', text: 'helped', kind: 'reply', in_reply_to: sent.message_id }),
      ],
    });
    expect(await seat.call('check_inbox')).toEqual({ messages: [] });
    await seat.leave();
  });

  test('leaves unanswered requests to the next client that joins; what it read stays read', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('me', lead, { provider: 'external' });
    world.behave('lead', async (turn) => {
      await turn.call('send_message', { recipient: 'me', text: 'some news', sync: false });
      return 'ok';
    });
    await world.ask('lead', 'tell me');
    await world.settle();
    const id = await world.ask('me', 'still there?');
    const seat = await world.join('me');
    expect((await seat.call('check_inbox')).messages).toHaveLength(2);
    await seat.leave();
    const next = await world.join('me');
    expect(await next.call('check_inbox')).toMatchObject({ messages: [{ message_id: id, kind: 'request' }] });
    await next.leave();
  });

  test('shares one run between its connections; the last one to leave ends it', async () => {
    const world = await createWorld();
    await world.create('me', null, { provider: 'external' });
    const [one, two] = await Promise.all([world.join('me'), world.join('me')]);
    expect(one.attempt.runId).toBe(two.attempt.runId);
    await one.leave();
    expect(await two.call('list_agents')).toEqual({ agents: [] });
    await two.leave();
    expect((await one.callRaw('list_agents'))?.result).toMatchObject({ error: { code: 'fenced' } });
    const three = await world.join('me');
    expect(three.attempt.runId).not.toBe(one.attempt.runId);
    await three.leave();
  });

  test('can be joined again while it is being left', async () => {
    const world = await createWorld();
    await world.create('me', null, { provider: 'external' });
    const one = await world.join('me');
    const leaving = one.leave();
    const two = await world.join('me');
    await leaving;
    expect(await two.call('list_agents')).toEqual({ agents: [] });
    await two.leave();
  });
});

describe('a message of an external agent without in_reply_to', () => {
  /** Two clients of one external agent, and the neighbour `a` that asked it these questions. */
  async function createPair(questions: readonly string[]) {
    const world = await createWorld({ requestDeadlineMs: 1_000 });
    const lead = await world.create('lead');
    await world.create('me', lead, { provider: 'external' });
    await world.create('a', lead);
    const heard: string[] = [];
    const asked: string[] = [];
    world.behave('a', async (turn) => {
      for (const { kind, text } of turn.messages) heard.push(`${kind}: ${text}`);
      if (turn.messages[0]?.text !== 'ask') return 'ok';
      for (const text of questions) {
        asked.push((await turn.call('send_message', { recipient: 'me', text, sync: true })).message_id as string);
      }
      return 'asked';
    });
    const [one, two] = [await world.join('me'), await world.join('me')];
    await world.ask('a', 'ask');
    await world.settle();
    heard.length = 0;
    return { world, one, two, heard, asked };
  }

  test('answers the only open request that check_inbox gave to this connection', async () => {
    const { world, one, heard, asked } = await createPair(['which branch?']);
    await one.call('check_inbox');
    const sent = await one.call('send_message', { recipient: 'a', text: 'main' });
    expect(sent).toEqual({
      status: 'sent',
      message_id: expect.any(String),
      waiting_for_reply: false,
      answered: asked[0],
    });
    await world.settle();
    expect(heard).toEqual(['reply: main']);
    // An answered request is no longer held.
    const more = await one.call('send_message', { recipient: 'a', text: 'and it is green', sync: false });
    expect(more).not.toHaveProperty('answered');
  });

  test('also answers in the DM', async () => {
    const { world, one, asked } = await createPair(['which branch?']);
    await one.call('check_inbox');
    expect(await one.call('send_message', { channelId: 'dm-a-me', text: 'main' })).toMatchObject({
      answered: asked[0],
    });
    expect(await world.reply(asked[0] as string)).toMatchObject({ state: 'closed', text: 'main' });
  });

  test('does not answer unread requests or those given to another connection', async () => {
    const { world, one, two, asked } = await createPair(['which branch?']);
    const unread = await one.call('send_message', { recipient: 'a', text: 'the build is broken', sync: false });
    expect(unread).not.toHaveProperty('answered');
    await one.call('check_inbox');
    const other = await two.call('send_message', { recipient: 'a', text: 'still broken' });
    expect(other).not.toHaveProperty('answered');
    expect((await world.reply(asked[0] as string)).state).toBe('open');
  });

  test('always asks with sync: true', async () => {
    const { world, one, asked } = await createPair(['which branch?']);
    await one.call('check_inbox');
    const sent = await one.call('send_message', { recipient: 'a', text: 'of which repository?', sync: true });
    expect(sent).toMatchObject({ waiting_for_reply: true });
    expect(sent).not.toHaveProperty('answered');
    expect((await world.reply(asked[0] as string)).state).toBe('open');
  });

  test('is an error that lists the ids if it holds several, unless it is news', async () => {
    const { world, one, asked } = await createPair(['which branch?', 'which tag?']);
    await one.call('check_inbox');
    await expect(one.call('send_message', { recipient: 'a', text: 'main' })).rejects.toThrow(
      `conflict: You have several open requests from a: ${asked.join(', ')}.`,
    );
    const told = await one.call('send_message', { recipient: 'a', text: 'a moment', sync: false });
    expect(told).not.toHaveProperty('answered');
    await one.call('send_message', { recipient: 'a', text: 'v1', in_reply_to: asked[1] });
    expect(await one.call('send_message', { recipient: 'a', text: 'main' })).toMatchObject({ answered: asked[0] });
    expect(await world.reply(asked[0] as string)).toMatchObject({ state: 'closed', text: 'main' });
    expect(await world.reply(asked[1] as string)).toMatchObject({ state: 'closed', text: 'v1' });
  });

  test('is the late reply to a request that was answered with an error meanwhile, once', async () => {
    const { world, one, heard, asked } = await createPair(['which branch?']);
    await one.call('check_inbox');
    await world.pass(2_000);
    await world.settle();
    const sent = await one.call('send_message', { recipient: 'a', text: 'main' });
    expect(sent).toMatchObject({ waiting_for_reply: false, answered: asked[0], late: true });
    await world.settle();
    expect(heard).toEqual(['error: me did not answer before the deadline.', 'late: main']);
    const more = await one.call('send_message', { recipient: 'a', text: 'more', sync: false });
    expect(more).not.toHaveProperty('answered');
  });
});
