import { describe, expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

describe('an external agent', () => {
  test('is never woken, and holds no slot', async () => {
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

  test('gets the replies to what it asked', async () => {
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

  test('leaves what it did not answer to whoever joins next; what it read is read', async () => {
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

  test('joining again at the very moment of leaving works', async () => {
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
