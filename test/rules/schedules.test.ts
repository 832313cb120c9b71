import { describe, expect, test } from 'vitest';
import { keyOf } from '../../src/core/agent.ts';
import { addSchedule, applySchedules, removeSchedule, type ScheduleWish } from '../../src/messaging/schedules.ts';
import { createWorld, type WorldOptions } from '../helpers/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** An agent that notes when it hears what; the clock stands at 08:00 UTC, and a schedule is for every full hour. */
async function scheduled(change: Partial<ScheduleWish> = {}, options: WorldOptions = {}) {
  const world = await createWorld(options);
  await world.create('x', null, { tools: ['control', 'send_message', 'ask_person'] });
  const heard: string[] = [];
  const note = (text: string) => heard.push(`${new Date(world.clock()).toISOString().slice(8, 16)} ${text}`);
  world.behave('x', ({ messages }) => {
    for (const { text, kind } of messages) note(`${text} (${kind})`);
    return 'done';
  });
  await world.pass(DAY - (world.clock() % DAY) + 8 * HOUR);
  const wish = { name: 'hourly', cron: '0 * * * *', timeZone: 'UTC', target: 'x', text: 'look', runs: 20, ...change };
  const schedule = await world.store.write((tx) => addSchedule(tx, wish, null, world.clock()));
  const pass = async (ms: number) => {
    await world.pass(ms);
    await world.settle();
  };
  const get = async () => {
    const found = await world.store.read((tx) => tx.schedules.getSchedule({ id: schedule.id }));
    if (!found) throw new Error('no schedule');
    return found;
  };
  return { world, heard, pass, get, wish, schedule };
}

const hours = (heard: readonly string[]) => heard.map((line) => line.slice(3, 8));

describe('a schedule', () => {
  test("sends its text at its times, as the owner's request; the answer arrives in the owner's DM", async () => {
    const { world, heard, pass, get } = await scheduled();
    await pass(HOUR - 1000);
    expect(heard).toEqual([]);
    await pass(1000);
    await pass(HOUR);
    expect(heard.map((line) => line.slice(3))).toEqual(['09:00 look (request)', '10:00 look (request)']);
    const messageId = (await get()).messageId ?? '';
    const message = await world.store.read((tx) => tx.messages.getMessage({ id: messageId }));
    expect(await world.said(message?.channelId ?? '')).toEqual(['user: look', 'x: done', 'user: look', 'x: done']);
  });

  test('fires once for what it missed during a downtime, and keeps its times', async () => {
    const { world, heard, pass } = await scheduled();
    await pass(HOUR);
    await world.crash();
    await pass(5.5 * HOUR);
    await pass(0.5 * HOUR);
    expect(hours(heard)).toEqual(['09:00', '14:30', '15:00']);
  });

  test('a clock that jumps two days forward and back fires nothing twice and loses nothing', async () => {
    const { world, heard, pass } = await scheduled({ cron: '0 12 * * *' });
    await world.setClock(2 * DAY);
    await world.settle();
    expect(heard).toHaveLength(1);
    await world.setClock(-2 * DAY);
    await world.settle();
    expect(heard).toHaveLength(1);
    // What it fired for is 12:00 of the first day; that of the second day is still to come.
    await pass(12 * HOUR);
    expect(heard).toHaveLength(1);
    await pass(16 * HOUR);
    expect(heard).toHaveLength(2);
    await pass(DAY);
    expect(heard).toHaveLength(3);
  });

  test('back and forth by less than an hour fires every hour once', async () => {
    const { world, heard, pass } = await scheduled();
    await pass(HOUR);
    await pass(10 * MINUTE);
    for (const step of [-20 * MINUTE, 20 * MINUTE, -20 * MINUTE]) {
      await world.setClock(step);
      await world.settle();
    }
    await pass(20 * MINUTE);
    expect(hours(heard)).toEqual(['09:00']);
    await pass(50 * MINUTE);
    expect(hours(heard)).toEqual(['09:00', '10:00']);
  });

  test('sends nothing while the message before is unread, and says so', async () => {
    const { world, heard, pass, get } = await scheduled();
    await world.pause('x');
    await pass(HOUR);
    await pass(HOUR);
    expect((await world.view('x')).pending).toBe(1);
    expect(await get()).toMatchObject({ error: expect.stringContaining('not been read yet') });
    await world.resume('x');
    await world.settle();
    await pass(HOUR);
    expect(heard).toHaveLength(2);
    expect(await get()).toMatchObject({ error: null });
  });

  test('says that its agent is gone, and sends again when there is one', async () => {
    const { world, pass, get } = await scheduled({ target: 'later' });
    await pass(HOUR);
    expect(await get()).toMatchObject({ messageId: null, error: 'There is no living agent or channel "later".' });
    await world.create('later');
    await pass(HOUR);
    expect(await get()).toMatchObject({ messageId: expect.any(String), error: null });
  });

  describe('each firing pays for its own runs', () => {
    /** A root that asks its child and gets its reply: three runs. */
    async function chained(runs: number, maxTreeRuns = 1_000_000) {
      const made = await scheduled({ runs }, { maxTreeRuns, maxAttempts: 1 });
      const { world } = made;
      await world.create('y', await world.agentNamed('x'));
      const begun: string[] = [];
      world.behave('x', async (turn) => {
        const [first] = turn.messages;
        begun.push(`x ${first?.kind}`);
        if (first?.kind === 'request') await turn.call('send_message', { recipient: 'y', text: 'go', sync: true });
        return 'done';
      });
      world.behave('y', () => {
        begun.push('y');
        return 'done';
      });
      const { treeId } = await world.agentNamed('x');
      const used = async () => (await world.store.read((tx) => tx.trees.getTree({ id: treeId })))?.runsSincePerson;
      const told = async () => (await world.said('dm-user-x')).filter((line) => line.includes('The schedule'));
      return { ...made, begun, used, told };
    }

    test('not the tree, also if the tree has none left', async () => {
      const { world, pass, begun, used } = await chained(3, 1);
      await world.ask('x', 'hello');
      await world.settle();
      expect({ begun: [...begun], used: await used() }).toEqual({ begun: ['x request'], used: 1 });
      await pass(HOUR);
      // The chain of the owner's message still waits for the owner.
      expect({ begun: begun.slice(1), used: await used() }).toEqual({
        begun: ['x request', 'y', 'x reply'],
        used: 1,
      });
    });

    test('what needs more waits for the next firing, and the owner is told once', async () => {
      const { pass, begun, used, told } = await chained(2);
      await pass(HOUR);
      expect(begun).toEqual(['x request', 'y']);
      await pass(HOUR / 2);
      expect(begun).toHaveLength(2);
      expect(await told()).toEqual([
        'system: The schedule "hourly" has used the 2 runs of its last firing (runs), and x has more to do for it. It continues when the schedule fires again; if you remove the schedule, the team continues with its own runs.',
      ]);
      await pass(HOUR / 2);
      // The reply of the first chain, then the request of the second one: nothing of the allowance is kept.
      expect(begun.slice(2)).toEqual(['x reply', 'x request']);
      expect(await told()).toHaveLength(2);
      expect(await used()).toBe(0);
    });

    test('one that needs no more runs is not told about', async () => {
      const { pass, begun, told } = await chained(3);
      await pass(HOUR);
      await pass(HOUR);
      expect(begun).toHaveLength(6);
      expect(await told()).toEqual([]);
    });

    test('when it is removed, the tree pays', async () => {
      const { world, pass, begun, used, schedule } = await chained(2);
      await pass(HOUR);
      await world.store.write((tx) => removeSchedule(tx, schedule));
      await world.settle();
      expect(begun).toEqual(['x request', 'y', 'x reply']);
      expect(await used()).toBe(1);
    });

    test('a poke counts as a run of the schedule, and a question goes to the owner', async () => {
      const { world, pass } = await chained(3);
      const results: unknown[] = [];
      world.behave('y', () => {
        throw new Error('it broke');
      });
      world.behave('x', async (turn) => {
        if (turn.messages[0]?.kind === 'request') {
          await turn.call('send_message', { recipient: 'y', text: 'go', sync: true });
          return 'waiting';
        }
        results.push(await turn.call('poke', { agent_name: 'y' }).catch(({ message }: Error) => message));
        await turn.call('ask_person', { question: 'Why?' });
        return 'done';
      });
      await pass(HOUR);
      expect(results).toEqual(['cap_reached: The schedule "hourly" has no runs left until it fires again.']);
      expect(await world.openQuestions()).toMatchObject([{ handle: 'x', subject: 'Why?' }]);
    });

    test("draws from the owner's budget", async () => {
      const { world, pass, begun } = await chained(20);
      await world.budget('person', 'user', 'runs', 2);
      await pass(HOUR);
      expect(begun).toEqual(['x request', 'y']);
      expect(await world.budgets()).toMatchObject([{ used: 2, waiting: 1 }]);
    });
  });

  test('does not count as a message of a person: it does not answer a question', async () => {
    const { world, heard, pass } = await scheduled();
    let asked: Record<string, unknown> = {};
    world.behave('x', async (turn) => {
      heard.push(...turn.messages.map(({ kind }) => kind));
      if (heard.length === 1) asked = await turn.call('ask_person', { question: 'Which branch?' });
      return '';
    });
    await world.ask('x', 'go');
    await world.settle();
    await pass(HOUR);
    expect(heard).toEqual(['request', 'request']);
    const question = await world.store.read((tx) => tx.questions.getQuestion({ id: String(asked.question_id) }));
    expect(question?.outcome).toBeNull();
    const { id: agentId } = await world.agentNamed('x');
    expect(await world.store.read((tx) => tx.questions.hasHeard({ agentId, after: world.clock() - HOUR }))).toBe(false);
  });

  test('posts in a channel', async () => {
    const { world, heard, pass } = await scheduled({ target: '#hall' });
    await world.channel('hall', ['x']);
    await pass(HOUR);
    expect(heard.map((line) => line.slice(3))).toEqual(['09:00 look (news)']);
    expect(await world.said('hall')).toEqual(['user: look']);
  });

  test('of the configuration is changed and removed with it; one of a person stays', async () => {
    const { world, heard, pass, wish } = await scheduled();
    const apply = (...wishes: ScheduleWish[]) =>
      world.store.write((tx) => applySchedules(tx, wishes, 'node-1', world.clock()));
    const daily = { ...wish, name: 'Daily', text: 'daily', cron: '30 9 * * *' };
    expect(await apply({ ...wish, text: 'mine' }, daily)).toEqual(['hourly']);
    // During a downtime it is due, and the same configuration does not forget it.
    const named = (name: string) => world.store.read((tx) => tx.schedules.getScheduleNamed({ nameKey: keyOf(name) }));
    const before = await named('daily');
    await apply({ ...daily, text: 'changed' });
    expect(await named('daily')).toEqual({ ...before, text: 'changed' });
    await pass(1.5 * HOUR);
    expect(heard.map((line) => line.slice(9))).toEqual(['look (request)', 'changed (request)']);
    await apply();
    expect(await named('daily')).toBeNull();
    const hourly = await named('hourly');
    if (hourly) await world.store.write((tx) => removeSchedule(tx, hourly));
    await pass(2 * DAY);
    expect(heard).toHaveLength(2);
  });

  test.each([
    [{ name: 'HOURLY' }, /a schedule "HOURLY" already/],
    [{ name: 'y', cron: '0 8 * *' }, /five fields/],
    [{ name: 'y', timeZone: 'Nowhere/Land' }, /no time zone/],
  ])('cannot be added with %o', async (change, message) => {
    const { world, wish } = await scheduled();
    await expect(
      world.store.write((tx) => addSchedule(tx, { ...wish, ...change }, null, world.clock())),
    ).rejects.toThrow(message);
  });
});

test('a repeated reminder survives a clock that jumps two days forward and back', async () => {
  const world = await createWorld();
  await world.create('x');
  let reminded = 0;
  world.behave('x', async (turn) => {
    reminded += turn.messages.filter(({ kind }) => kind === 'notice').length;
    if (turn.messages[0]?.text === 'go') {
      await turn.call('remind_me', { reason: 'r', timeout: 3600, every: 3600 });
      await turn.call('remind_me', { reason: 'once', timeout: 7200 });
    }
    return '';
  });
  await world.ask('x', 'go');
  await world.settle();
  const after = async (ms: number, move: (ms: number) => Promise<void>) => {
    await move(ms);
    await world.settle();
    return reminded;
  };
  expect(await after(2 * DAY, world.setClock)).toBe(2);
  expect(await after(-2 * DAY, world.setClock)).toBe(2);
  expect(await after(HOUR, world.pass)).toBe(2);
  expect(await after(HOUR, world.pass)).toBe(3);
  expect(await after(HOUR, world.pass)).toBe(4);
});

test('a reminder that is set while the clock is ahead does not wait for the clock; one for a time of the clock does', async () => {
  const world = await createWorld();
  await world.create('x');
  const heard: string[] = [];
  let at = '';
  world.behave('x', async (turn) => {
    heard.push(...turn.messages.filter(({ kind }) => kind === 'notice').map(({ text }) => text.split('\n> ')[1] ?? ''));
    if (turn.messages[0]?.text === 'go') {
      await turn.call('remind_me', { reason: 'soon', timeout: 3600 });
      await turn.call('remind_me', { reason: 'then', at });
    }
    return '';
  });
  await world.setClock(2 * DAY);
  at = new Date(world.clock() + HOUR).toISOString();
  await world.ask('x', 'go');
  await world.settle();
  await world.pass(HOUR / 2);
  // In two steps, as a time server may do it.
  for (const step of [-DAY, -DAY]) await world.setClock(step);
  await world.settle();
  expect(heard).toEqual([]);
  await world.pass(HOUR / 2);
  await world.settle();
  expect(heard).toEqual(['soon']);
  await world.pass(2 * DAY);
  await world.settle();
  expect(heard).toEqual(['soon', 'then']);
});
