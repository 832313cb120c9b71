import { describe, expect, test } from 'vitest';
import { until } from '../helpers/until.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

describe('check_inbox with a filter', () => {
  test('skips whole authors, and of an author takes what comes before the first that does not match', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    for (const name of ['a', 'b', 'me']) await world.create(name, lead);
    for (const name of ['a', 'b']) {
      world.behave(name, async (turn) => {
        for (const n of [1, 2]) await turn.call('send_message', { recipient: 'me', text: `${name}${n}`, sync: false });
        return '';
      });
    }
    const texts = async (turn: WorldTurn, args: object) =>
      ((await turn.call('check_inbox', args)).messages as { text: string }[]).map(({ text }) => text);
    const read: string[][] = [];
    world.behave('me', async (turn) => {
      await world.ask('a', 'go');
      await world.ask('b', 'go');
      await world.tick();
      await until('four messages', async () => (await world.view('me')).pending === 4);
      read.push(await texts(turn, { kind: 'notice' }), await texts(turn, { sender: 'B' }));
      read.push(await texts(turn, { sender: 'b' }), await texts(turn, { kind: 'news' }));
      return '';
    });
    await world.ask('me', 'go');
    await world.settle();
    expect(read).toEqual([[], ['b1', 'b2'], [], ['a1', 'a2']]);
  });
});

describe('news', () => {
  test('wakes an idle agent', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('idle', lead);
    const heard: string[] = [];
    world.behave('idle', (turn) => {
      heard.push(...turn.messages.map((message) => `${message.kind}: ${message.text}`));
      return '';
    });
    world.behave('lead', async (turn) => {
      await turn.call('send_message', { recipient: 'idle', text: 'by the way', sync: false });
      return 'ok';
    });
    await world.ask('lead', 'go');
    await world.settle();
    expect(heard).toEqual(['news: by the way']);
  });

  test('does not wake a waiting agent; the next run carries all of it, in order', async () => {
    const world = await createWorld({ slots: 4 });
    const lead = await world.create('lead');
    await world.create('waiter', lead);
    await world.create('slow', lead);
    await world.create('chatty', lead);
    const turns: string[][] = [];
    const { promise: release, resolve } = Promise.withResolvers<void>();
    world.behave('slow', async () => {
      await release;
      return 'at last';
    });
    world.behave('chatty', async (turn) => {
      for (const n of [1, 2, 3])
        await turn.call('send_message', { recipient: 'waiter', text: `news ${n}`, sync: false });
      return 'told';
    });
    world.behave('waiter', async (turn) => {
      turns.push(turn.messages.map((message) => message.text));
      if (turn.messages[0]?.kind !== 'request') return 'done';
      await turn.call('send_message', { recipient: 'slow', text: 'q' });
      return 'waiting';
    });
    await world.ask('waiter', 'go');
    await world.tick();
    while ((await world.view('slow')).running === 0 || (await world.view('waiter')).running > 0) await world.tick();
    expect(await world.view('waiter')).toMatchObject({ asking: 1 });
    const chat = await world.ask('chatty', 'talk');
    while ((await world.reply(chat)).state !== 'closed') await world.tick();
    expect(turns).toEqual([['go']]);
    resolve();
    await world.settle();
    expect(turns).toEqual([['go'], ['news 1', 'news 2', 'news 3', 'at last']]);
  });

  test('is returned to a busy agent by check_inbox, and every tool result mentions it', async () => {
    const world = await createWorld({ slots: 4 });
    const lead = await world.create('lead');
    await world.create('busy', lead);
    await world.create('chatty', lead);
    world.behave('chatty', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return 'heard';
      await turn.call('send_message', { recipient: 'busy', text: 'psst', sync: false });
      await turn.call('send_message', { recipient: 'busy', text: 'a question', sync: true });
      return 'waiting';
    });
    const inboxes: unknown[] = [];
    world.behave('busy', async (turn) => {
      if (turn.messages[0]?.text !== 'work') return 'answered';
      const chat = await world.ask('chatty', 'talk');
      while ((await world.view('busy')).pending < 2) await new Promise((resolve) => setImmediate(resolve));
      const listed = await turn.callRaw('list_agents');
      expect(listed?.news).toBe(1);
      inboxes.push(await turn.call('check_inbox'), await turn.call('check_inbox'));
      expect((await turn.callRaw('list_agents'))?.news).toBe(0);
      return `saw ${chat.length > 0}`;
    });
    const id = await world.ask('busy', 'work');
    await world.settle();
    expect(inboxes).toEqual([
      { messages: [{ from: 'chatty', text: 'psst', message_id: expect.any(String) }] },
      { messages: [] },
    ]);
    expect(await world.reply(id)).toMatchObject({ text: 'saw true' });
  });

  test('does not overtake an earlier request of its author', async () => {
    const world = await createWorld({ slots: 4 });
    const lead = await world.create('lead');
    await world.create('target', lead);
    await world.create('sender', lead);
    const turns: string[][] = [];
    world.behave('sender', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return 'thanks';
      await turn.call('send_message', { recipient: 'target', text: 'first the question', sync: true });
      await turn.call('send_message', { recipient: 'target', text: 'then the news', sync: false });
      return 'sent';
    });
    world.behave('target', async (turn) => {
      turns.push(turn.messages.map((message) => message.text));
      if (turn.messages[0]?.text !== 'work') return 'ok';
      const order = await world.ask('sender', 'write to target');
      while ((await world.view('target')).pending < 2) await new Promise((resolve) => setImmediate(resolve));
      expect(await turn.call('check_inbox')).toEqual({ messages: [] });
      return order;
    });
    await world.ask('target', 'work');
    await world.settle();
    expect(turns).toEqual([['work'], ['first the question', 'then the news']]);
  });

  test('waits behind a request of its author that was left for a later run', async () => {
    const world = await createWorld({ slots: 4 });
    const lead = await world.create('lead');
    for (const name of ['target', 'ann', 'ben']) await world.create(name, lead);
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    const turns: string[][] = [];
    world.behave('target', (turn) => {
      turns.push(turn.messages.map((message) => message.text));
      return turns.length === 1 ? hold : 'ok';
    });
    world.behave('ann', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return '';
      await turn.call('send_message', { recipient: 'target', text: 'a question of ann', sync: true });
      return 'asked';
    });
    world.behave('ben', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return '';
      await turn.call('send_message', { recipient: 'target', text: 'earlier news of ben', sync: false });
      await turn.call('send_message', { recipient: 'target', text: 'a question of ben', sync: true });
      await turn.call('send_message', { recipient: 'target', text: 'later news of ben', sync: false });
      return 'asked';
    });
    await world.ask('target', 'work');
    await world.ask('ann', 'ask');
    while ((await world.view('target')).pending < 1) await world.tick();
    await world.ask('ben', 'ask');
    while ((await world.view('target')).pending < 4) await world.tick();
    resolve('done');
    await world.settle();
    expect(turns).toEqual([
      ['work'],
      ['a question of ann', 'earlier news of ben'],
      ['a question of ben', 'later news of ben'],
    ]);
  });

  test('by broadcast reaches all siblings and nobody else', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    for (const name of ['one', 'two', 'three']) await world.create(name, lead);
    const heard: string[] = [];
    for (const name of ['lead', 'two', 'three']) {
      world.behave(name, (turn) => {
        heard.push(`${name}: ${turn.messages[0]?.text}`);
        return '';
      });
    }
    let result: unknown;
    world.behave('one', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return '';
      result = await turn.call('broadcast', { text: 'to all' });
      return 'ok';
    });
    await world.ask('one', 'go');
    await world.settle();
    expect(result).toEqual({ status: 'sent', message_id: expect.any(String), recipient_count: 2 });
    expect(heard.sort()).toEqual(['three: to all', 'two: to all']);
    const team = await world.store.read((tx) => tx.channels.getTeamChannel({ teamOf: lead.id }));
    const members = await world.store.read((tx) => tx.channels.listMembers({ channelId: team?.id ?? '' }));
    expect(members).toHaveLength(4);
  });

  test('by broadcast is an error for an agent without siblings, for a root and for an only child', async () => {
    const world = await createWorld();
    const root = await world.create('root');
    await world.create('only', root);
    for (const name of ['root', 'only']) {
      world.behave(name, async (turn) => {
        await expect(turn.call('broadcast', { text: 'hello' })).rejects.toThrow(
          /bad_request: You do not have siblings/,
        );
        return 'ok';
      });
      const id = await world.ask(name, 'go');
      await world.settle();
      expect(await world.reply(id)).toMatchObject({ text: 'ok' });
    }
    expect(await world.said('team-root')).toEqual([]);
  });
});

describe('a run', () => {
  test('serves one request; the next one gets its own run', async () => {
    const world = await createWorld({ slots: 1 });
    await world.create('clerk');
    const turns: string[][] = [];
    world.behave('clerk', (turn) => {
      turns.push(turn.messages.map((message) => message.text));
      return `re: ${turn.messages[0]?.text}`;
    });
    const ids = [];
    for (const text of ['one', 'two', 'three']) ids.push(await world.ask('clerk', text));
    await world.settle();
    expect(turns).toEqual([['one'], ['two'], ['three']]);
    for (const [i, text] of ['one', 'two', 'three'].entries()) {
      expect(await world.reply(ids[i] as string)).toMatchObject({ text: `re: ${text}`, count: 1 });
    }
  });

  test('has depth 0 if a person writes, and one more with every hop', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const middle = await world.create('middle', lead);
    await world.create('end', middle);
    world.behave('lead', async (turn) => {
      if (turn.messages[0]?.kind === 'request') await turn.call('send_message', { recipient: 'middle', text: 'q' });
      return 'x';
    });
    world.behave('middle', async (turn) => {
      if (turn.messages[0]?.kind === 'request') await turn.call('send_message', { recipient: 'end', text: 'q' });
      return 'x';
    });
    const depths: number[] = [];
    world.behave('end', async (turn) => {
      depths.push((await world.store.read((tx) => tx.runs.getRun({ id: turn.runId })))?.chainDepth ?? -1);
      return 'x';
    });
    await world.ask('lead', 'go');
    await world.ask('end', 'you too');
    await world.settle();
    expect(depths.sort()).toEqual([0, 2]);
  });

  test('started by a reply is as deep as the chain that returned with it', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('middle', lead);
    await world.create('other');
    await world.channel('general', ['lead', 'other']);
    await world.wake('general', 'other', 'mentions');
    const depths: number[] = [];
    world.behave('lead', async (turn) => {
      depths.push((await world.store.read((tx) => tx.runs.getRun({ id: turn.runId })))?.chainDepth ?? -1);
      if (depths.length < 4) await turn.call('send_message', { recipient: 'middle', text: 'q', sync: true });
      await turn.call('send_message', { channelId: 'general', text: 'look, @other' });
      return 'x';
    });
    let woken = 0;
    world.behave('other', () => {
      woken += 1;
      return '';
    });
    await world.ask('lead', 'go');
    await world.settle();
    expect(depths).toEqual([0, 2, 4, 6]);
    // Posts at `maxChainDepth` (3) and beyond wake nobody.
    expect(woken).toBe(2);
  });

  test('carries no more text than fits; the next one carries the rest', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('reader', lead);
    const turns: number[] = [];
    world.behave('lead', async (turn) => {
      for (let n = 0; n < 5; n += 1) {
        await turn.call('send_message', { recipient: 'reader', text: 'x'.repeat(450_000), sync: false });
      }
      return 'ok';
    });
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    world.behave('reader', async (turn) => {
      turns.push(turn.messages.length);
      return turns.length === 1 ? hold : '';
    });
    await world.ask('reader', 'first');
    const told = await world.ask('lead', 'go');
    while ((await world.reply(told)).state !== 'closed') await world.tick();
    resolve('done');
    await world.settle();
    expect(turns).toEqual([1, 2, 2, 1]);
  });
});
