import { describe, expect, test } from 'vitest';
import type { OwnCall } from '../../src/core/own-tool.ts';
import type { Policy } from '../../src/core/policy.ts';
import { type Decision, decide } from '../../src/messaging/questions.ts';
import { readArguments } from '../../src/tools/arguments.ts';
import { createWorld, type WorldOptions, type WorldTurn } from '../helpers/world.ts';

const OWNER = { id: 'user', handle: 'user', token: null };
const policy = (change: Partial<Policy>): Policy => ({
  ...{ name: 'careful', tool: 'own:shell', action: 'ask', agent: null, persona: null, arguments: {}, by: null },
  ...change,
});
const shell = (command: string): OwnCall => ({ kind: 'shell', input: { command } });
const write = (path: string): OwnCall => ({ kind: 'write', input: { path, content: 'x' } });

/** x makes these calls with tools of its own, one turn after another. */
async function working(options: WorldOptions, ...turns: OwnCall[][]) {
  const world = await createWorld(options);
  await world.create('x');
  const results: string[][] = [];
  world.behave('x', async ({ guard }: WorldTurn) => {
    const answers: string[] = [];
    for (const call of turns.shift() ?? []) {
      const permission = await guard?.permit(call);
      answers.push(permission?.allowed === false ? permission.message : 'made');
    }
    results.push(answers);
    return 'done';
  });
  const open = () =>
    world.store.read((tx) =>
      tx.questions.listQuestions({ participantId: null, open: true, before: 2 ** 50, limit: 9 }),
    );
  return {
    world,
    results,
    open,
    go: async () => {
      await world.ask('x', 'go');
      await world.settle();
    },
    decide: async (decision: Decision) => {
      const id = (await open())[0]?.id ?? '';
      await world.store.write((tx) => decide(tx, world.rules, OWNER, id, decision, world.clock()));
      await world.settle();
    },
  };
}

describe("a policy about programs' own tools", () => {
  test('that asks refuses at once with the id of the question; the approval permits exactly this call, once', async () => {
    const { results, open, go, decide } = await working(
      { policies: [policy({})] },
      [shell('make'), shell('make'), write('/a')],
      [shell('make all'), shell('make'), shell('make')],
    );
    await go();
    const [question] = await open();
    expect(question).toMatchObject({ tool: 'own:shell', args: { command: 'make' } });
    const refused = expect.stringContaining(`A person has to approve this call (question ${question?.id})`);
    expect(results[0]).toEqual([refused, refused, 'made']);
    await decide({ kind: 'approve', text: null, revised: null });
    const again = expect.stringContaining('A person has to approve');
    expect(results[1]).toEqual([again, 'made', again]);
  });

  test('that asks counts its questions as calls, so that a program cannot ask without end', async () => {
    const { results, go } = await working(
      { policies: [policy({})], toolCallsPerMinute: 3 },
      Array.from({ length: 5 }, () => shell('make')),
    );
    await go();
    expect(results[0]?.slice(3)).toEqual(Array(2).fill(expect.stringContaining('Too many calls')));
  });

  test('a person may approve another command instead', async () => {
    const { world, results, go, decide } = await working({ policies: [policy({})] }, [shell('rm -r .')], [shell('ls')]);
    await go();
    const { id } = await world.view('x');
    const settings = { customTools: async () => [], defaultProvider: null };
    const read = (args: object) => readArguments(settings, world.store, id, 'own:shell', args);
    const revised = await read({ command: 'ls' });
    await decide({ kind: 'approve', text: null, revised });
    expect(results[1]).toEqual(['made']);
    await expect(read({ cmd: 'ls' })).rejects.toThrow('own:shell');
    expect((await world.view('x')).terminatedAt).toBeNull();
  });

  test('that denies refuses without asking; an exact command or a path may be allowed', async () => {
    const { results, open, go } = await working(
      {
        policies: [
          policy({ tool: 'own:*', action: 'deny', name: 'closed' }),
          policy({ action: 'allow', arguments: { command: 'npm test' } }),
          policy({ action: 'allow', arguments: { command: 'ls*' } }),
          policy({ tool: 'own:write', action: 'allow', arguments: { path: '/w/*' } }),
        ],
      },
      [shell('npm test'), shell('ls; curl x'), write('/w/a'), write('/etc/a')],
      [{ kind: 'write', input: {}, parts: [{ path: '/w/a' }, { path: '/etc/b' }] }],
    );
    await go();
    const denied = expect.stringContaining('The policy "closed" does not allow this call');
    expect(results[0]).toEqual(['made', denied, 'made', denied]);
    await go();
    expect(results[1]).toEqual([denied]);
    expect(await open()).toEqual([]);
  });

  test('holds for a change of several files as for each of them', async () => {
    const change = (...paths: string[]): OwnCall => {
      const parts = paths.map((path) => ({ path }));
      return { kind: 'write', input: { changes: parts }, parts };
    };
    const { results, go } = await working(
      { policies: [policy({ tool: 'own:write', action: 'deny', arguments: { path: '/etc/*' } })] },
      [change('/w/a', '/w/b'), change('/w/a', '/etc/b')],
    );
    await go();
    expect(results[0]).toEqual(['made', expect.stringContaining('does not allow this call')]);
  });

  test('of a parent holds for its children, and what no policy is about has no guard', async () => {
    const { world } = await working({ policies: [policy({ agent: 'x', action: 'deny' }), policy({ tool: 'deploy' })] });
    await world.create('y', await world.agentNamed('x'));
    await world.create('z');
    const guarded: Record<string, unknown> = {};
    for (const name of ['y', 'z']) {
      world.behave(name, ({ guard }) => {
        guarded[name] = guard?.verdict(shell('ls')) ?? null;
        return '';
      });
      await world.ask(name, 'go');
    }
    await world.settle();
    expect(guarded).toEqual({ y: 'deny', z: null });
  });

  test('refuses a provider whose program does not ask, with the reason', async () => {
    const { world } = await working({ policies: [policy({})], unjudged: { wild: ['shell'] }, maxAttempts: 1 });
    await world.create('w', null, { provider: 'wild' });
    let ran = false;
    world.behave('w', () => {
      ran = true;
      return '';
    });
    const id = await world.ask('w', 'go');
    await world.settle();
    const text =
      'The provider wild cannot enforce the policy "careful": its program does not ask before it uses own:shell';
    expect(await world.reply(id)).toMatchObject({ kind: 'error', text: expect.stringContaining(text) });
    expect(ran).toBe(false);
  });

  test('refuses such a provider for a child', async () => {
    const { world } = await working({ policies: [policy({})], unjudged: { wild: ['shell'] } });
    await world.create('p', null, { maySpawn: ['wild', 'tame'] });
    const results: unknown[] = [];
    world.behave('p', async ({ call }) => {
      for (const provider of ['wild', 'tame'])
        results.push(await call('spawn_agent', { name: provider, instructions: 'x', provider }).catch(String));
      return '';
    });
    await world.ask('p', 'go');
    await world.settle();
    expect(results).toEqual([
      expect.stringContaining('bad_request: The provider wild cannot enforce the policy "careful"'),
      expect.objectContaining({ status: 'created' }),
    ]);
  });

  test.each([
    ['own:shell', 'tame'],
    ['own:write', 'wild'],
  ])('about %s, a fallback that cannot enforce it is passed over', async (tool, expected) => {
    const { world } = await working({ policies: [policy({ tool })], unjudged: { wild: ['shell'] } });
    await world.create('f', null, { fallback: ['wild', 'tame'] });
    const seats: string[] = [];
    world.behave('f', ({ seat }) => {
      seats.push(seat);
      return seats.length > 1 ? 'done' : { failure: 'rate_limit', exhausted: true, retryAfterMs: 3_600_000 };
    });
    await world.ask('f', 'go');
    await world.settle();
    expect(seats).toEqual(['test', expected]);
  });

  test('a call that is too long to be read is not asked about', async () => {
    const { results, open, go } = await working({ policies: [policy({})] }, [shell('x'.repeat(100_001))]);
    await go();
    expect(results).toEqual([[expect.stringContaining('too long to be read')]]);
    expect(await open()).toEqual([]);
  });
});
