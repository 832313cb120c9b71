import { describe, expect, test } from 'vitest';
import { clearSuspects } from '../../src/runs/deaths.ts';
import { until } from '../helpers/until.ts';
import { createWorld } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

/** Starts its turn and kills the daemon, this many times; stops when the agent starts no more turns. */
async function die(world: World, name: string, times: number, how: Parameters<World['crash']>[0] = {}) {
  for (let n = 0; n < times; n += 1) {
    await world.tick();
    if ((await world.view(name)).running === 0) return n;
    await world.crash(how);
  }
  return times;
}

async function noticesIn({ store }: World): Promise<string[]> {
  return store.read(async (tx) => {
    const events = await tx.events.listEvents({ after: 0, limit: 10_000 });
    const posts = events.filter((event) => event.type === 'message_created').map(({ data }) => data);
    const messages = await Promise.all(posts.map(({ messageId }) => tx.messages.getMessage({ id: messageId })));
    return messages.filter((message) => message?.kind === 'notice').map((message) => message?.text ?? '');
  });
}

describe('a run that crashes the daemon', () => {
  test('is found among 20, set aside, and its agent paused; the others continue', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `a${n}`);
    const world = await createWorld({ slots: 20 });
    let life = 1;
    let poisoned = false;
    const suspects = new Set<string>();
    let together = 0;
    for (const name of names) {
      await world.create(name);
      world.behave(name, async (turn) => {
        suspects.add(name);
        if (life === 3) together = Math.max(together, suspects.size);
        poisoned = life === 3 && name === 'a7';
        // Long turns: they are running whenever the daemon dies.
        if (life < 3 || (life === 3 && name === 'a7')) {
          await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
        } else await new Promise((resolve) => setImmediate(resolve));
        suspects.delete(name);
        return `${name} answers`;
      });
    }
    const asked = new Map<string, string>();
    for (const name of names) asked.set(name, await world.ask(name, `go, ${name}`));
    for (; life < 3; life += 1) {
      await until('all are under way', async () => {
        await world.tick();
        return world.scheduler().liveRuns().length === 20;
      });
      await world.crash();
      suspects.clear();
    }
    await until('the poisoned one is under way', async () => {
      await world.tick();
      return poisoned;
    });
    expect(together).toBe(1);
    await world.crash();
    life += 1;
    await world.settle();

    for (const name of names) {
      const { kind, text, count } = await world.reply(asked.get(name) ?? '');
      const bad = name === 'a7';
      expect([name, kind, count]).toEqual([name, bad ? 'error' : 'reply', 1]);
      expect(text).toMatch(
        bad ? /^Set aside: The daemon died 3 times in a row while the run .* was in progress\./ : 'answers',
      );
      expect((await world.view(name)).pausedAt !== null).toBe(bad);
    }
    const notices = await noticesIn(world);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(
      /^a7 is paused\. .*"go, a7".*3 attempts.*`substrat agent resume a7` to resume the agent\.$/s,
    );

    const later = await world.ask('a7', 'are you there?');
    await world.settle();
    expect((await world.reply(later)).state).toBe('open');
    await world.resume('a7');
    await world.settle();
    expect((await world.reply(later)).text).toBe('a7 answers');
  });

  test('is set aside even if nothing else is running', async () => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', () => new Promise(() => {}));
    const id = await world.ask('x', 'go');
    expect(await die(world, 'x', 9)).toBe(3);
    expect(await world.reply(id)).toMatchObject({ kind: 'error', count: 1 });
    expect(await world.view('x')).toMatchObject({ running: 0, pausedReason: expect.stringContaining('3 times') });
  });

  test('is eventually set aside although it gets slightly further each time', async () => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', async (turn) => {
      for (let n = 0; n < turn.attempt; n += 1) await turn.call('list_agents');
      return new Promise(() => {});
    });
    await world.ask('x', 'go');
    let deaths = 0;
    for (; deaths < 40 && (await world.view('x')).pausedAt === null; deaths += 1) {
      await until('its calls', async () => {
        await world.tick();
        const [run] = await world.store.read((tx) =>
          tx.runs.listRuns({ agentId: null, state: null, before: null, limit: 1 }),
        );
        const records = await world.store.read((tx) => tx.records.listRecords({ runId: run?.id ?? '' }));
        const made = records.filter(({ attempt }) => attempt === run?.attempt).length;
        return made === 2 + 2 * (run?.attempt ?? 0);
      });
      await world.crash();
    }
    expect(deaths).toBeGreaterThan(9);
    expect(deaths).toBeLessThan(20);
  });
});

describe('a run that is running when the daemon dies', () => {
  test('is not set aside while its attempts make progress', async () => {
    const world = await createWorld();
    const { id: agentId } = await world.create('x');
    let made = 0;
    world.behave('x', async (turn) => {
      for (; made < turn.attempt; made += 1) await turn.call('list_agents');
      made = 0;
      return turn.attempt < 9 ? new Promise(() => {}) : 'done';
    });
    const id = await world.ask('x', 'go');
    for (let attempt = 1; attempt < 9; attempt += 1) {
      await until(`attempt ${attempt} is recorded`, async () => {
        await world.tick();
        const run = await world.store.read((tx) => tx.runs.getLiveRun({ agentId }));
        const records = await world.store.read((tx) => tx.records.listRecords({ runId: run?.id ?? '' }));
        return records.filter((record) => record.attempt === attempt).length === 2 + 2 * attempt;
      });
      await world.crash();
    }
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'done', kind: 'reply' });
  });

  test.each([
    ['a new boot of the machine', (world: World) => die(world, 'x', 1, { reboot: true })],
    ['an orderly stop', (world: World) => clearSuspects(world.store, 'node-1')],
  ])('is cleared by %s', async (_, clear) => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', () => new Promise(() => {}));
    await world.ask('x', 'go');
    expect(await die(world, 'x', 2)).toBe(2);
    await clear(world);
    expect(await die(world, 'x', 9)).toBe(3);
    expect((await world.view('x')).pausedAt).not.toBeNull();
  });

  test('is not set aside while another could be at fault; then they run one at a time', async () => {
    const world = await createWorld({ maxDeaths: 1 });
    for (const name of ['x', 'y']) {
      await world.create(name);
      world.behave(name, () => new Promise(() => {}));
      await world.ask(name, 'go');
    }
    await until('both are under way', async () => {
      await world.tick();
      return world.scheduler().liveRuns().length === 2;
    });
    await world.crash();
    const paused = async () => [(await world.view('x')).pausedAt !== null, (await world.view('y')).pausedAt !== null];
    expect(await paused()).toEqual([false, false]);
    await world.tick();
    expect(world.scheduler().liveRuns()).toHaveLength(1);
    await world.crash();
    expect((await paused()).filter(Boolean)).toHaveLength(1);
  });

  test('is not counted if the daemon was stopped, or with max_deaths = 0', async () => {
    for (const [maxDeaths, died] of [
      [3, false],
      [0, true],
    ] as const) {
      const world = await createWorld({ maxDeaths });
      await world.create('x');
      world.behave('x', () => new Promise(() => {}));
      await world.ask('x', 'go');
      expect(await die(world, 'x', 9, { died })).toBe(9);
      expect((await world.view('x')).pausedAt).toBeNull();
    }
  });
});
