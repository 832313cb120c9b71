import { describe, expect, test } from 'vitest';
import { createFamily } from '../helpers/family.ts';
import type { WorldOptions } from '../helpers/world.ts';

/** The lead asks w, whose first `failing` attempts break after a message to its sibling x. */
async function brokenTeam(failing: number, options: WorldOptions = {}) {
  const family = await createFamily({ maxAttempts: 1, ...options });
  const { world, lead, go } = family;
  await world.create('x', lead);
  const heard: string[] = [];
  world.behave('x', ({ messages }) => {
    heard.push(...messages.map(({ text }) => text));
    return '';
  });
  const prompts: string[][] = [];
  world.behave('w', async (turn) => {
    prompts.push(turn.messages.map(({ text }) => text));
    await turn.call('send_message', { recipient: 'x', text: 'I begin', sync: false });
    if (prompts.length <= failing) throw new Error('it broke');
    return 'the result';
  });
  const request = (await go((turn) => turn.call('send_message', { recipient: 'w', text: 'please' }))) as {
    message_id: string;
  };
  const newest = async () => {
    const run = await world.store.read((tx) => tx.runs.getNewestRun({ agentId: family.w.id }));
    if (!run) throw new Error('no run');
    return run;
  };
  return { ...family, prompts, heard, newest, requestId: request.message_id };
}

describe('poke', () => {
  test('tries the failed run again: same messages, repeated calls are not made twice, the reply is late', async () => {
    const { world, call, told, prompts, heard, newest, requestId } = await brokenTeam(1);
    const failed = await newest();
    expect(failed).toMatchObject({ state: 'failed', attempt: 1 });
    expect(await call('poke')).toEqual({ status: 'poked', run: failed.id });
    expect(await newest()).toMatchObject({ id: failed.id, state: 'completed', attempt: 2, failures: 0, pokes: 1 });
    expect(prompts).toEqual([['please'], ['please']]);
    expect(heard).toEqual(['I begin']);
    expect(told).toEqual([
      { kind: 'error', text: expect.stringContaining('it broke') },
      { kind: 'late', text: 'the result' },
    ]);
    expect(await world.reply(requestId)).toMatchObject({ state: 'closed', kind: 'error', count: 2 });
    expect(await call('poke')).toMatch(/has not failed/);
  });

  test('sends no second reply if the turn answers with send_message', async () => {
    const { world, call, told } = await brokenTeam(1);
    world.behave('w', async (turn) => {
      await turn.call('send_message', { recipient: 'lead', text: 'here it is' });
      return 'bye';
    });
    await call('poke');
    expect(told.slice(1)).toEqual([{ kind: 'late', text: 'here it is' }]);
  });

  test('at most 3 times per run; each failure is told, and each counts as a run of the tree', async () => {
    const { world, lead, go, told, prompts } = await brokenTeam(99);
    const results: unknown[] = [];
    const counts: number[] = [];
    const runs = async () => (await world.store.read((tx) => tx.trees.getTree({ id: lead.id })))?.runsSincePerson ?? 0;
    for (let i = 0; i < 4; i++) {
      results.push(
        await go(async (turn) => {
          const before = await runs();
          const result = await turn.call('poke', { agent_name: 'w' });
          counts.push((await runs()) - before);
          return result;
        }),
      );
    }
    expect(results.slice(0, 3)).toEqual(Array(3).fill({ status: 'poked', run: expect.any(String) }));
    expect(results[3]).toMatch(/cap_reached.*3 times/);
    expect(counts).toEqual([1, 1, 1]);
    expect(prompts).toHaveLength(4);
    expect(told.slice(1)).toEqual(
      Array(3).fill({ kind: 'notice', text: expect.stringMatching(/^w failed again after poke: it broke/) }),
    );
  });

  test('is refused when the tree has used its runs, and while the run is under way', async () => {
    const { world, lead, go, newest } = await brokenTeam(99, { maxTreeRuns: 10 });
    const results = await go(async (turn) => {
      await world.store.write(async (tx) => {
        for (let i = 0; i < 9; i++) await tx.trees.countTreeRun({ treeId: lead.id });
      });
      return turn.call('poke', { agent_name: 'w' });
    });
    expect(results).toMatch(/cap_reached.*max_tree_runs/);
    expect(await newest()).toMatchObject({ state: 'failed', pokes: 0 });
    const twice = await go(async (turn) => {
      await turn.call('poke', { agent_name: 'w' });
      return turn.call('poke', { agent_name: 'w' });
    });
    expect(twice).toMatch(/under way|has not failed/);
  });

  test('never for a run that a person cancelled, that was set aside, or of a paused agent', async () => {
    const { world, call, newest } = await brokenTeam(1);
    await world.pause('w');
    expect(await call('poke')).toMatch(/paused by a person/);
    await world.resume('w');
    world.behave('w', () => new Promise(() => {}));
    await world.ask('w', 'again');
    await world.tick();
    await world.cancel((await newest()).id);
    expect(await call('poke')).toMatch(/was cancelled/);
    await world.ask('w', 'again');
    await world.tick();
    const { id, fence } = await newest();
    const end = { state: 'failed', stopReason: 'set_aside', error: 'died', finalText: null, now: 1 } as const;
    await world.store.write((tx) => tx.runs.endRun({ id, fence, ...end }));
    world.scheduler().abort(id);
    expect(await call('poke')).toMatch(/set_aside/);
  });
});
