import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/core/agent.ts';
import type { Run } from '../../src/core/run.ts';
import { sessionKeyOf } from '../../src/core/session.ts';
import { createAttempt } from '../../src/runs/attempt.ts';
import { createKeeper } from '../../src/runs/keep-told.ts';
import { previewPrompt } from '../../src/runs/start.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

/** An agent that says its number of turns, and what its turns began with. */
async function counting(world: World): Promise<{ agent: Agent; turns: WorldTurn[] }> {
  const agent = await world.create('x');
  const turns: WorldTurn[] = [];
  world.behave('x', (turn) => {
    turns.push(turn);
    return `answer ${turns.length}`;
  });
  return { agent, turns };
}

async function ask(world: World, text: string): Promise<void> {
  await world.ask('x', text);
  await world.settle();
}

const sessionOf = (world: World, agent: Agent) => world.store.read((tx) => tx.sessions.getSession(sessionKeyOf(agent)));

describe('a session', () => {
  test('is resumed with its own provider, account and path only', async () => {
    const world = await createWorld();
    const { agent, turns } = await counting(world);
    const key = sessionKeyOf(agent);
    for (const other of [{ provider: 'other' }, { account: 'other' }, { insidePath: '/other' }]) {
      await world.store.write((tx) => tx.sessions.nameSession({ ...key, ...other, handle: 'foreign' }));
    }
    await ask(world, 'one');
    await world.store.write((tx) => tx.sessions.nameSession({ ...key, handle: 'own' }));
    await ask(world, 'two');
    expect(turns.map(({ session }) => session)).toEqual([null, 'own']);
  });

  test('knows the last run that completed in it, and no run that failed', async () => {
    const world = await createWorld({ maxAttempts: 1 });
    const agent = await world.create('x');
    let failing = false;
    const runs: string[] = [];
    world.behave('x', async (turn) => {
      runs.push(turn.runId);
      await turn.tell({ type: 'session', session: `s${runs.length}` });
      return failing ? { failure: 'crash' } : 'done';
    });
    await ask(world, 'one');
    expect(await sessionOf(world, agent)).toMatchObject({ handle: 's1', lastRunId: runs[0], lost: false });
    failing = true;
    await ask(world, 'two');
    expect(await sessionOf(world, agent)).toMatchObject({ handle: 's2', lastRunId: runs[0] });
  });

  test('is told the turns that completed after its last run, and only those', async () => {
    const world = await createWorld();
    const { agent, turns } = await counting(world);
    const key = sessionKeyOf(agent);
    await ask(world, 'one');
    const before = await sessionOf(world, agent);
    await ask(world, 'two');
    await ask(world, 'three');
    // As if the last two turns had been another provider's.
    const back = { ...key, runId: before?.lastRunId as string, runSeq: before?.lastRunSeq as number, snapshot: null };
    await world.store.write(async (tx) => {
      await tx.sessions.seeRun(back);
      await tx.sessions.nameSession({ ...key, handle: 'own' });
    });
    await ask(world, 'four');
    await ask(world, 'five');
    const prompts = turns.map(({ prompt }) => prompt);
    expect(prompts.map((prompt) => prompt.includes('Notice from Substrat'))).toEqual([
      false,
      false,
      false,
      true,
      false,
    ]);
    expect(prompts[3]).toMatch(/^Notice from Substrat:\nYou have worked in another conversation since this one\. /);
    expect(prompts[3]).toMatch(/> two\n< answer 2\n\n> .*\n> three\n< answer 3\n\n/);
    expect(prompts[3]).not.toContain('answer 1');
  });

  test('that does not exist yet is told all', async () => {
    const world = await createWorld();
    const { agent } = await counting(world);
    await ask(world, 'one');
    await ask(world, 'two');
    const next = async (change: Partial<Agent>) => {
      const sections = await world.store.read((tx) => previewPrompt(tx, { ...agent, ...change }, null));
      return sections.find(({ name }) => name === 'messages')?.text ?? '';
    };
    expect(await next({})).toBe('');
    const all =
      /^Notice from Substrat:\nYour earlier conversation could not be resumed.*> one\n< answer 1\n.*> two\n< answer 2$/s;
    expect(await next({ provider: 'other' })).toMatch(all);
    expect(await next({ workspace: '/other' })).toMatch(all);
  });

  test('that a program cannot resume is told all in every turn', async () => {
    const world = await createWorld();
    const agent = await world.create('x');
    const prompts: string[] = [];
    world.behave('x', async ({ prompt, tell }) => {
      prompts.push(prompt);
      await tell({ type: 'forgets' });
      return `answer ${prompts.length}`;
    });
    for (const text of ['one', 'two', 'three']) await ask(world, text);
    expect(prompts[1]).toMatch(/> one\n< answer 1\n/);
    expect(prompts[2]).toMatch(/> one\n< answer 1\n\n> .*\n> two\n< answer 2\n/);
    expect(await sessionOf(world, agent)).toBeNull();
  });

  test('that a turn tells of belongs to the provider of the turn, whatever runs the agent by then', async () => {
    const world = await createWorld();
    const agent = await world.create('x');
    world.behave('x', async ({ runId }) => {
      await world.store.write(async (tx) => {
        const run = (await tx.runs.getRun({ id: runId })) as Run;
        const keep = createKeeper(createAttempt(run, { ...agent, provider: 'former' }));
        await keep(tx, [{ type: 'session', session: 'late' }], 1);
      });
      return 'done';
    });
    await ask(world, 'one');
    expect(await sessionOf(world, agent)).toMatchObject({ handle: null });
    expect(await sessionOf(world, { ...agent, provider: 'former' })).toMatchObject({ handle: 'late', lastRunId: null });
  });
});
