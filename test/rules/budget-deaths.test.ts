import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SubstratError } from '../../src/core/errors.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { takeSharedDatabase } from '../helpers/engine.ts';
import { createWorld } from '../helpers/world.ts';

/** A store whose daemon dies after its n-th commit: nothing of it is written from then on, until the next one begins. */
function dyingAfter(store: Store) {
  const { write } = store;
  const life = { left: Number.POSITIVE_INFINITY };
  Object.assign(store, {
    write: async (...asked: Parameters<Store['write']>) => {
      // Whoever waits for it gives up, as if it had ended: a dead daemon writes nothing later.
      const dead = () => new SubstratError('fenced', 'The daemon is dead.');
      if (life.left <= 0) throw dead();
      const value = await write(...asked);
      life.left -= 1;
      if (life.left <= 0) throw dead();
      return value;
    },
  });
  return life;
}

/** On disk, or on the server of the project `postgres`. */
async function openForDeaths(): Promise<Store> {
  const database = await takeSharedDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'deaths-'));
  const store = await openStore(database ?? { path: join(directory, 'substrat.db') });
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return store;
}

test('a daemon that dies after any commit of a budgeted turn leaves nothing reserved, and the turn is charged', {
  timeout: 120_000,
}, async () => {
  const store = await openForDeaths();
  const life = dyingAfter(store);
  const world = await createWorld({ store });
  await world.create('x');
  await world.budget('agent', 'x', 'tokens', 10_000_000);
  world.behave('x', async (turn) => {
    const admission = await turn.admit({ model: null, inputTokens: 1_000, outputTokens: 60_000, leastOutput: 1_000 });
    turn.meter({ model: null, inputTokens: 900, outputTokens: 100 });
    admission?.over();
    await turn.checkBudgets();
    await turn.tell({ type: 'text', text: 'working' });
    return 'done';
  });
  const sum = async () => (await world.budgets())[0]?.used ?? 0;
  let deaths = 0;
  for (let n = 1; ; n += 1) {
    const before = await sum();
    const id = await world.ask('x', `${n}`);
    life.left = n;
    await world.settle().catch(() => {});
    const isDead = life.left <= 0;
    life.left = Number.POSITIVE_INFINITY;
    if (isDead) {
      deaths += 1;
      await world.crash();
    }
    await world.settle();
    expect((await world.reply(id)).text, `death after commit ${n}`).toBe('done');
    const [budget] = await world.budgets();
    expect(budget, `death after commit ${n}`).toMatchObject({ reserved: 0, waiting: 0 });
    // What was spent counts; an attempt that was cut off counts with what it had reserved, once.
    const used = (await sum()) - before;
    expect(used).toBeGreaterThanOrEqual(1_000);
    expect(used).toBeLessThanOrEqual(62_000 + 1_000);
    if (!isDead) break;
  }
  // The claim with its reservation, the admission, what was used, the record, the final charge and the end.
  expect(deaths).toBeGreaterThanOrEqual(5);
});
