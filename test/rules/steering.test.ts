import { describe, expect, test } from 'vitest';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

/** `busy`, and `chatty`, whose turns send the messages that busy's turn asks it to send. */
async function team() {
  const world = await createWorld({ slots: 4 });
  const lead = await world.create('lead');
  await world.create('busy', lead);
  await world.create('chatty', lead);
  world.behave('chatty', async (turn) => {
    const message = turn.messages.find(({ kind }) => kind === 'request');
    if (!message) return '';
    for (const text of message.text.split(', ')) {
      await turn.call('send_message', { recipient: 'busy', text, sync: text.endsWith('?') });
    }
    return 'sent';
  });
  return world;
}

/** Lets chatty send these messages, and waits until they are there. */
async function send(world: World, texts: string): Promise<void> {
  const pending = (await world.view('busy')).pending + texts.split(', ').length;
  await world.ask('chatty', texts);
  while ((await world.view('busy')).pending < pending) await world.tick();
}

/** What busy's turns began with, while its first turn does this. */
async function working(world: World, work: (turn: WorldTurn) => Promise<unknown>): Promise<string[][]> {
  const turns: string[][] = [];
  world.behave('busy', async (turn) => {
    turns.push(turn.messages.map(({ text }) => text));
    if (turn.messages[0]?.text === 'work') await work(turn);
    return 'ok';
  });
  await world.ask('busy', 'work');
  await world.settle();
  return turns;
}

describe('news that is inserted into a running turn', () => {
  test('is neither in the inbox nor in the next turn', async () => {
    const world = await team();
    const turns = await working(world, async (turn) => {
      const waiting = turn.news.next();
      await world.ask('chatty', 'psst');
      const ticking = (async () => {
        while ((await world.view('chatty')).pending + (await world.view('chatty')).running > 0) await world.tick();
      })();
      const arrived = await waiting;
      await ticking;
      expect(arrived?.text).toMatch(/^.* from chatty.*:\npsst$/);
      arrived?.taken();
      expect((await turn.callRaw('list_agents'))?.news).toBe(0);
      expect(await turn.call('check_inbox')).toEqual({ messages: [] });
    });
    expect(turns).toEqual([['work']]);
  });

  test('is not inserted again if the inbox gave it, and requests never are', async () => {
    const world = await team();
    let waiting: Promise<unknown> = Promise.resolve('nothing was asked for');
    const turns = await working(world, async (turn) => {
      await send(world, 'psst, a question?, after the question');
      expect(await turn.call('check_inbox')).toMatchObject({ messages: [{ text: 'psst' }] });
      waiting = turn.news.next();
    });
    expect(turns).toEqual([['work'], ['a question?', 'after the question']]);
    expect(await waiting).toBeNull();
  });

  test('waits for the next turn if the program did not take it', async () => {
    const world = await team();
    const turns = await working(world, async (turn) => {
      await send(world, 'one, two');
      const arrived = await turn.news.next();
      expect(arrived?.text).toMatch(/one[\s\S]*two/);
      expect(await turn.call('check_inbox')).toEqual({ messages: [] });
    });
    expect(turns).toEqual([['work'], ['one', 'two']]);
  });

  test('is in the prompt of the next attempt if the daemon dies, taken or not', async () => {
    const world = await team();
    const prompts: string[] = [];
    world.behave('busy', async (turn) => {
      prompts.push(turn.prompt);
      if (turn.attempt > 1) return 'ok';
      await send(world, 'one');
      (await turn.news.next())?.taken();
      await send(world, 'two');
      await turn.news.next();
      await world.crash();
      return 'never stored';
    });
    const id = await world.ask('busy', 'work');
    await world.settle();
    expect(prompts).toHaveLength(2);
    expect(prompts[1]).toMatch(/work[\s\S]*one[\s\S]*two/);
    expect(await world.reply(id)).toMatchObject({ text: 'ok', count: 1 });
  });

  test('is carried again by the retry of a turn that failed after it took it', async () => {
    const world = await team();
    const carried: string[][] = [];
    world.behave('busy', async (turn) => {
      carried.push(turn.messages.map(({ text }) => text));
      if (turn.attempt > 1) return 'ok';
      await send(world, 'one');
      (await turn.news.next())?.taken();
      return { failure: 'crash' };
    });
    await world.ask('busy', 'work');
    await world.settle();
    await world.pass(10_000);
    await world.settle();
    expect(carried).toEqual([['work'], ['work', 'one']]);
  });

  test('is kept out of a turn whose final text answers a broadcast', async () => {
    const world = await team();
    await world.create('caller', await world.agentNamed('lead'));
    const replies: string[] = [];
    world.behave('caller', async (turn) => {
      if (turn.messages[0]?.text === 'call') await turn.call('broadcast', { text: 'all of you' });
      replies.push(...turn.messages.map(({ text }) => text));
      return '';
    });
    const turns: string[][] = [];
    let waiting: Promise<unknown> = Promise.resolve('nothing was asked for');
    world.behave('busy', async (turn) => {
      turns.push(turn.messages.map(({ text }) => text));
      if (turns.length > 1) return '';
      await send(world, 'psst');
      waiting = turn.news.next();
      return 'I am here';
    });
    await world.ask('caller', 'call');
    await world.settle();
    expect(turns).toEqual([['all of you'], ['psst']]);
    expect(replies).toContain('I am here');
    expect(await waiting).toBeNull();
  });
});
