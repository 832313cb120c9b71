import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

/** Asks the next agent and passes on its answer. */
const passOn = (next: string) => async (turn: WorldTurn) => {
  const reply = turn.messages.find((message) => message.kind === 'reply');
  if (reply) return reply.text;
  await turn.call('send_message', { recipient: next, text: 'what does the last one say?' });
  return 'I have asked';
};

function scenarios(open: () => Promise<Store>): void {
  test("with one slot, a chain of 50 answers the first with the last one's text", async () => {
    const store = await open();
    const world = await createWorld({ slots: 1, store });
    let parent = null;
    for (let n = 1; n <= 50; n += 1) {
      parent = await world.create(`a${n}`, parent);
      world.behave(`a${n}`, n === 50 ? () => 'the last word' : passOn(`a${n + 1}`));
    }
    const id = await world.ask('a1', 'go');
    await world.settle();
    expect(await world.reply(id)).toEqual({ state: 'closed', text: 'the last word', kind: 'reply', count: 1 });
    await store.close();
  }, 120_000);

  test('with one slot, three agents that ask each other in a ring all get the right answers', async () => {
    const store = await open();
    const world = await createWorld({ slots: 1, store });
    const lead = await world.create('lead');
    const ring = ['x', 'y', 'z'];
    for (const name of ring) await world.create(name, lead);
    const heard: Record<string, string[]> = { x: [], y: [], z: [] };
    ring.forEach((name, i) => {
      const next = ring[(i + 1) % 3] as string;
      world.behave(name, async (turn) => {
        const [message] = turn.messages;
        if (message?.kind === 'reply') {
          heard[name]?.push(message.text);
          return `${name} heard ${message.text}`;
        }
        if (message?.from !== 'lead') return `${name} to ${message?.from}`;
        await turn.call('send_message', { recipient: next, text: `from ${name}` });
        return 'waiting';
      });
    });
    world.behave('lead', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return `${turn.messages.length} came back`;
      for (const name of ring) await turn.call('send_message', { recipient: name, text: 'go round' });
      return 'sent them round';
    });
    const id = await world.ask('lead', 'go');
    await world.settle();
    expect(heard).toEqual({ x: ['y to x'], y: ['z to y'], z: ['x to z'] });
    expect((await world.reply(id)).state).toBe('closed');
    for (const name of ['lead', ...ring])
      expect(await world.view(name)).toMatchObject({ running: 0, asking: 0, pending: 0 });
    await store.close();
  });

  test('with one slot, two agents that ask each other at the same time both get their answers', async () => {
    const store = await open();
    const world = await createWorld({ slots: 1, store });
    const lead = await world.create('lead');
    const answers: string[] = [];
    for (const [name, other] of [
      ['left', 'right'],
      ['right', 'left'],
    ] as const) {
      await world.create(name, lead);
      world.behave(name, async (turn) => {
        const [message] = turn.messages;
        if (message?.kind === 'reply') {
          answers.push(`${name} got "${message.text}" from ${message.from}`);
          return `${name} is done`;
        }
        if (message?.from === other) return `${name} answers`;
        await turn.call('send_message', { recipient: other, text: 'you first' });
        return 'waiting';
      });
    }
    const first = await world.ask('left', 'go');
    const second = await world.ask('right', 'go');
    await world.settle();
    expect(answers.sort()).toEqual(['left got "right answers" from right', 'right got "left answers" from left']);
    expect(await world.reply(first)).toMatchObject({ text: 'left is done', count: 1 });
    expect(await world.reply(second)).toMatchObject({ text: 'right is done', count: 1 });
    await store.close();
  });
}

describe('no deadlock and no early answer, on SQLite', () => scenarios(() => openStore({ path: ':memory:' })));

describeOnPostgres('no deadlock, no early answer, on PostgreSQL', () =>
  scenarios(async () => openStore({ url: (await createDatabase()).url })),
);
