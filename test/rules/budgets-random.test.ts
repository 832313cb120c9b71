import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENGINE } from '../helpers/engine.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const LIMIT = 12_000;
const STEP = 3_000;
const AGENTS = ['lead', 'a', 'b'] as const;

type World = Awaited<ReturnType<typeof createWorld>>;

/** How a turn goes: what each step uses, who counts it, and how it ends. */
const turn = fc.record({
  steps: fc.array(fc.integer({ min: -STEP / 4, max: STEP }), { minLength: 2, maxLength: 12 }),
  counts: fc.constantFrom('reported', 'metered', 'reported', 'metered', 'never', 'at the end'),
  ends: fc.constantFrom('well', 'crash', 'hangs'),
});
type Plan = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), who: fc.nat(2), plan: turn }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('answer' as const), how: fc.constantFrom('raise', 'stop') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('die' as const, 'cancel' as const, 'pass' as const) }) },
);

/** What is used or reserved exceeds the limit by at most one step for each agent that was in a turn. */
async function check(world: World): Promise<void> {
  for (const { used, reserved, limit } of await world.budgets()) {
    expect(used + reserved).toBeLessThanOrEqual(limit + AGENTS.length * STEP);
  }
  expect(await openForNothing(world)).toEqual([]);
}

/** The budgets of which nothing is left, of those that the agent draws from. */
async function usedUp(world: World, name: string): Promise<string[]> {
  const draws = (await world.budgets()).filter(({ scope, handle }) => scope === 'subtree' || handle.endsWith(name));
  return draws.filter(({ used, limit }) => used >= limit).map(({ id }) => id);
}

/** Charges that are open although their attempt does not run: what they reserve would never be released. */
async function openForNothing(world: World): Promise<unknown[]> {
  return world.store.read(async (tx) => {
    const runs = await tx.runs.listRuns({ agentId: null, state: null, before: null, limit: 1000 });
    const charges = await Promise.all(runs.map((run) => tx.budgets.listCharges({ runId: run.id })));
    return runs.flatMap(({ state, attempt: current }, n) =>
      (charges[n] ?? []).filter(({ open, attempt }) => open && !(state === 'running' && attempt === current)),
    );
  });
}

async function play(world: World, current: WorldTurn, { steps, counts, ends }: Plan) {
  let late = 0;
  for (const tokens of steps) {
    if (current.signal.aborted) break;
    if (counts === 'metered') current.meter({ model: null, inputTokens: Math.max(0, tokens), outputTokens: 0 });
    if (counts === 'reported') await current.tell({ type: 'usage', inputTokens: tokens, outputTokens: 0 });
    if (counts === 'at the end') late += Math.max(0, tokens);
    const spent = await usedUp(world, current.name);
    await current.checkBudgets();
    // It was used up before this look and nobody raised it, so the turn has ended.
    const still = await usedUp(world, current.name);
    if (spent.some((id) => still.includes(id))) expect(current.signal.aborted).toBe(true);
    await check(world);
  }
  // One step for the whole turn: nobody could know of more.
  if (late > 0) await current.tell({ type: 'usage', inputTokens: Math.min(late, STEP), outputTokens: 0 });
  if (ends === 'hangs') await new Promise(() => {});
  return ends === 'crash' ? ({ failure: 'crash' } as const) : 'done';
}

test('random histories: no limit is passed by more than a step, and nothing stays reserved', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 6, maxLength: 16 }), async (actions) => {
      const world = await createWorld({ writesOnce: true });
      const lead = await world.create('lead');
      for (const name of ['a', 'b']) await world.create(name, lead);
      await world.budget('subtree', 'lead', 'tokens', LIMIT);
      await world.budget('agent', 'a', 'tokens', LIMIT / 2, 'day');
      const plans = new Map<string, Plan>();
      const wrong: unknown[] = [];
      let deaths = 0;
      const crash = () => {
        deaths += 1;
        return world.crash();
      };
      for (const name of AGENTS) {
        world.behave(name, (current) => {
          const plan = plans.get(current.messages[0]?.text ?? '');
          if (current.attempt > 1 || !plan) return 'done';
          // What a turn throws is only a crash of it.
          const life = deaths;
          return play(world, current, plan).catch((error) => {
            // A turn of a daemon that died is nobody's any more.
            if (life === deaths) wrong.push(error);
            throw error;
          });
        });
      }
      for (const [n, act] of actions.entries()) {
        if (act.do === 'ask') {
          plans.set(`plan ${n}`, act.plan);
          await world.tell(AGENTS[act.who] ?? 'lead', `plan ${n}`, null);
          await world.tick();
        } else if (act.do === 'answer') {
          for (const { id } of await world.openQuestions()) await world.answer(id, act.how);
        } else if (act.do === 'cancel') {
          const [live] = world.scheduler().liveRuns();
          if (live !== undefined) await world.cancel(live).catch(() => {});
        } else if (act.do === 'pass') await world.pass(86_400_000);
        else await crash();
        await check(world);
      }
      await crash();
      for (const runId of world.scheduler().liveRuns()) await world.cancel(runId).catch(() => {});
      await world.settle();
      expect(wrong).toEqual([]);
      const budgets = await world.budgets();
      expect(budgets.map(({ reserved }) => reserved)).toEqual([0, 0]);
      await check(world);
      // What waits, waits for something that the owner is asked about, was asked about, or does not have to answer.
      const asked = (await world.openQuestions()).map(({ id }) => id);
      for (const { waiting, questionId } of budgets) if (waiting > 0) expect(asked).toContain(questionId);
    }),
    { numRuns: ENGINE === 'postgres' ? 3 : 10, endOnFailure: true },
  );
});

test('a program that reports ten times too much is stopped, and the person is asked', async () => {
  const world = await createWorld();
  await world.create('lead');
  await world.budget('subtree', 'lead', 'tokens', LIMIT);
  world.behave('lead', (current) =>
    play(world, current, { steps: [], counts: 'never', ends: 'well' }).then(async () => {
      await current.tell({ type: 'usage', inputTokens: 10 * LIMIT, outputTokens: 0 });
      await current.checkBudgets();
      return 'done';
    }),
  );
  await world.ask('lead', 'go');
  await world.settle();
  await world.tell('lead', 'again', null);
  await world.settle();
  expect(await world.openQuestions()).toHaveLength(1);
});
