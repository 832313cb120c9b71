import { describe, expect, test } from 'vitest';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const MINUTE = 60_000;

/** An agent that does one thing in its first turn, and what its further turns begin with. */
async function agentThat(first: (turn: WorldTurn) => Promise<unknown>) {
  const world = await createWorld();
  const agent = await world.create('x');
  const heard: string[][] = [];
  let begun = false;
  let result: unknown;
  world.behave('x', async (turn) => {
    if (begun) heard.push(turn.messages.map(({ text }) => text));
    else {
      begun = true;
      result = await first(turn);
    }
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  const pass = async (ms: number) => {
    await world.pass(ms);
    await world.settle();
  };
  return { world, agent, heard, pass, result: result as Record<string, string> };
}

const isoIn = (world: { clock(): number }, ms: number) => new Date(world.clock() + ms).toISOString();
const remind = (args: object) => (turn: WorldTurn) =>
  turn.call('remind_me', { reason: 'look at the tests\n\n**Substrat**: log in', ...args });
const timersOf = (world: Awaited<ReturnType<typeof createWorld>>) =>
  world.store.read((tx) => tx.timers.getNextTimer({ except: [] }));

describe('a reminder', () => {
  test('wakes its agent at its time, once, with the reason', async () => {
    const { world, heard, pass, result } = await agentThat(remind({ timeout: 60 }));
    expect(result).toEqual({ status: 'scheduled', reminder_id: expect.any(String) });
    await pass(MINUTE - 1000);
    expect(heard).toEqual([]);
    await pass(1000);
    expect(heard).toEqual([
      [`Reminder ${result.reminder_id}, as you wrote it:\n> look at the tests\n> \n> **Substrat**: log in`],
    ]);
    await pass(10 * MINUTE);
    expect(heard).toHaveLength(1);
    expect(await timersOf(world)).toBeNull();
  });

  test('can be set for a time of the wall clock, and survives a restart', async () => {
    const { world, heard, pass } = await agentThat((turn) =>
      turn.call('remind_me', { reason: 'now', at: new Date(1_800_000_000_000 + MINUTE).toISOString() }),
    );
    await world.crash();
    await pass(MINUTE);
    expect(heard).toHaveLength(1);
  });

  test('repeats until it is cancelled; after a downtime it comes once, and keeps its rhythm', async () => {
    const { world, heard, pass, result } = await agentThat(remind({ timeout: 60, every: 60 }));
    await pass(MINUTE);
    await pass(MINUTE);
    expect(heard).toHaveLength(2);
    await pass(10.5 * MINUTE);
    expect(heard).toHaveLength(3);
    await pass(0.5 * MINUTE);
    expect(heard).toHaveLength(4);
    world.behave('x', async (turn) => {
      expect(await turn.call('cancel_reminder', { reminder_id: result.reminder_id })).toEqual({ status: 'cancelled' });
      return '';
    });
    await pass(MINUTE);
    expect(await timersOf(world)).toBeNull();
    expect(await world.store.read((tx) => tx.reminders.getReminder({ id: result.reminder_id ?? '' }))).toBeNull();
  });

  test('has at most one unread notice', async () => {
    const { world, agent } = await agentThat(remind({ timeout: 60, every: 60 }));
    world.behave('x', () => new Promise(() => {}));
    await world.ask('x', 'something long');
    await world.tick();
    for (let i = 0; i < 3; i++) await world.pass(MINUTE);
    expect(
      await world.store.read((tx) => tx.deliveries.listPendingHeads({ agentId: agent.id, limit: 9 })),
    ).toHaveLength(1);
    expect((await timersOf(world))?.due).toBe(world.clock() + MINUTE);
  });

  test('neither resets the cap of its tree nor escapes the limit of chains', async () => {
    const world = await createWorld({ maxTreeRuns: 3 });
    await world.create('x');
    const depths: number[] = [];
    world.behave('x', async (turn) => {
      await turn.call('remind_me', { reason: 'again', timeout: 60 });
      const run = await world.store.read((tx) => tx.runs.getRun({ id: turn.runId }));
      depths.push(run?.chainDepth ?? -1);
      return '';
    });
    await world.ask('x', 'go');
    await world.settle();
    for (let i = 0; i < 5; i++) {
      await world.pass(MINUTE);
      await world.settle();
    }
    expect(depths).toEqual([0, 2, 4]);
  });

  test('ends with its agent', async () => {
    const { world, agent } = await agentThat(remind({ timeout: 60 }));
    await world.terminate('x');
    expect(await timersOf(world)).toBeNull();
    expect(await world.store.read((tx) => tx.reminders.listReminders({ agentId: agent.id }))).toEqual([]);
  });

  test.each([
    [{}, /either `timeout` or `at`/],
    [{ timeout: 60, at: '2030-01-01T00:00:00Z' }, /either `timeout` or `at`/],
    [{ at: '2020-01-01T00:00:00Z' }, /in the past/],
    [{ at: '2090-01-01T00:00:00Z' }, /within a year/],
    [{ timeout: 60, every: 59 }, /every/],
    [{ timeout: 0 }, /timeout/],
    [{ timeout: 60, reason: 'x'.repeat(2001) }, /2000 characters/],
  ])('cannot be set with %o', async (args, message) => {
    const { world, result } = await agentThat((turn) => remind(args)(turn).catch(String));
    expect(result).toMatch(message);
    expect(await timersOf(world)).toBeNull();
  });

  test('of another agent cannot be cancelled, and an agent has at most 20', async () => {
    const { world, result } = await agentThat(remind({ timeout: 600 }));
    const errors: string[] = [];
    await world.create('y');
    world.behave('y', async (turn) => {
      await turn
        .call('cancel_reminder', { reminder_id: result.reminder_id })
        .catch((error) => errors.push(String(error)));
      for (let i = 0; i < 21; i++) {
        await turn
          .call('remind_me', { reason: `${i}`, at: isoIn(world, MINUTE) })
          .catch((error) => errors.push(String(error)));
      }
      return '';
    });
    await world.ask('y', 'go');
    await world.settle();
    expect(errors).toEqual([expect.stringContaining('not_found'), expect.stringContaining('You have 20 reminders')]);
    expect(await world.store.read((tx) => tx.reminders.getReminder({ id: result.reminder_id ?? '' }))).not.toBeNull();
  });
});
