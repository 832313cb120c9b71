import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Policy } from '../../src/core/policy.ts';
import { type Decision, decide } from '../../src/messaging/questions.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const OWNER = { id: 'user', handle: 'user', token: null };
const ANN = { id: 'person-ann', handle: 'ann', token: null };
const approve: Decision = { kind: 'approve', text: null, revised: null };
const policy = (change: Partial<Policy>): Policy => ({
  name: 'careful',
  tool: 'pay',
  action: 'ask',
  agent: null,
  persona: null,
  arguments: {},
  by: null,
  ...change,
});

/** Called when money was paid, before the tool returns. */
let afterPaying: (() => Promise<void>) | null = null;

/** x plays one behaviour after another; `pay` is a script tool that notes what it paid. */
async function paying(policies: Policy[], ...turns: ((turn: WorldTurn) => Promise<unknown>)[]) {
  const paid: unknown[] = [];
  const pay = {
    name: 'pay',
    description: 'Pays.',
    source: 'ts' as const,
    version: 'one',
    input: z.strictObject({ amount: z.number(), to: z.string().default('shop') }),
    call: async (input: unknown) => {
      paid.push(input);
      await afterPaying?.();
      return 'paid';
    },
  };
  const world = await createWorld({ policies, customTools: [pay] });
  await world.create('x');
  const results: unknown[] = [];
  world.behave('x', async (turn) => {
    results.push(await turns.shift()?.(turn).catch(String));
    return 'done';
  });
  const open = async () => {
    const page = { participantId: null, open: true, before: 2 ** 50, limit: 9 };
    return (await world.store.read((tx) => tx.questions.listQuestions(page))).map(({ id }) => id);
  };
  return {
    world,
    paid,
    results,
    open,
    setVersion: (version: string) => Object.assign(pay, { version }),
    go: async () => {
      await world.ask('x', 'go');
      await world.settle();
    },
    decide: async (decision: Decision, who = OWNER) => {
      const question = String((await open())[0]);
      await world.store.write((tx) => decide(tx, world.rules, who, question, decision, world.clock()));
      await world.settle();
    },
  };
}

const pay = (args: object) => (turn: WorldTurn) => turn.call('pay', args);
const say = (turn: WorldTurn) => turn.call('send_message', { recipient: 'USER', text: 'hi', sync: false });

describe('a policy', () => {
  test('that asks holds the call, and an approval permits it once, with exactly these arguments', async () => {
    const { paid, results, open, go, decide } = await paying(
      [policy({})],
      async (turn) => [await pay({ amount: 5 })(turn).catch(String), await pay({ amount: 5 })(turn).catch(String)],
      async (turn) => [
        await pay({ amount: 6 })(turn).catch(String),
        await pay({ amount: 5, to: 'shop' })(turn),
        await pay({ amount: 5 })(turn).catch(String),
      ],
    );
    await go();
    const [id] = await open();
    const held = new RegExp(`^Error: approval_required: A person has to approve this call \\(question ${id}\\)`);
    expect(results[0]).toEqual([expect.stringMatching(held), expect.stringMatching(held)]);
    expect(paid).toEqual([]);
    await decide(approve);
    expect(results[1]).toEqual([
      expect.stringMatching(/approval_required/),
      { result: 'paid' },
      expect.stringMatching(/approval_required/),
    ]);
    expect(paid).toEqual([{ amount: 5, to: 'shop' }]);
    expect(await open()).toHaveLength(2);
  });

  test('that was answered with a rejection refuses the call without asking again', async () => {
    const { paid, results, open, go, decide } = await paying([policy({})], pay({ amount: 5 }), pay({ amount: 5 }));
    await go();
    await decide({ kind: 'reject', text: null });
    expect(results[1]).toMatch(/forbidden: A person rejected this call of pay/);
    expect(await open()).toEqual([]);
    expect(paid).toEqual([]);
  });

  test('that denies refuses, also what was approved before', async () => {
    const { world, paid, results, go, decide } = await paying([policy({})], pay({ amount: 5 }), async () => 'later');
    await go();
    await decide(approve);
    world.setPolicies([policy({ action: 'deny', name: 'never' })]);
    world.behave('x', async (turn) => {
      results.push(await pay({ amount: 5 })(turn).catch(String));
      return '';
    });
    await go();
    expect(results.at(-1)).toMatch(/forbidden: The policy "never" does not allow this call of pay/);
    expect(paid).toEqual([]);
  });

  test('holds for built-in tools, and work outside the store waits for the approval', async () => {
    const make = (turn: WorldTurn) => turn.call('create_workspace', { name: 'lab' });
    const { world, results, go, decide } = await paying(
      [policy({ tool: 'create_workspace' }), policy({ tool: 'send_message', action: 'deny' })],
      async (turn) => [await make(turn).catch(String), await say(turn).catch(String)],
      make,
    );
    await go();
    expect(results[0]).toEqual([expect.stringMatching(/approval_required/), expect.stringMatching(/forbidden/)]);
    const labs = () => world.store.read((tx) => tx.workspaces.getWorkspaceNamed({ nameKey: 'lab' }));
    expect(await labs()).toBeNull();
    await decide(approve);
    expect(results[1]).toEqual({ status: 'created', name: 'lab' });
    expect(await labs()).not.toBeNull();
  });

  test('of a parent holds for its children', async () => {
    const { world, paid } = await paying([policy({ agent: 'x', action: 'deny' })]);
    await world.create('y', await world.agentNamed('x'));
    let result = '';
    world.behave('y', async (turn) => {
      result = String(await pay({ amount: 1 })(turn).catch(String));
      return '';
    });
    await world.ask('y', 'go');
    await world.settle();
    expect(result).toMatch(/forbidden/);
    expect(paid).toEqual([]);
  });

  test('an approved call that an interrupted attempt made is not made again, and needs a new approval', async () => {
    const { world, paid, results, open, go, decide } = await paying([policy({})], pay({ amount: 5 }));
    await go();
    let attempts = 0;
    world.behave('x', async (turn) => {
      attempts += 1;
      results.push(await pay({ amount: 5 })(turn).catch(String));
      if (attempts === 1) throw new Error('the program crashed');
      results.push(await pay({ amount: 5 })(turn).catch(String));
      return '';
    });
    await decide(approve);
    await world.pass(60_000);
    await world.settle();
    expect(results.slice(1)).toEqual([
      { result: 'paid' },
      { result: 'paid', repeated: true },
      expect.stringMatching(/approval_required/),
    ]);
    expect(paid).toHaveLength(1);
    expect(await open()).toHaveLength(1);
  });

  test('is answered by the owner or by those whom it names, not by the person whose request led to the call', async () => {
    const { world, paid, go, decide, open } = await paying(
      [policy({}), policy({ name: 'small', arguments: { amount: 5 }, by: ['ann'] })],
      pay({ amount: 900 }),
      async () => 'rejected',
      pay({ amount: 5 }),
      pay({ amount: 5 }),
    );
    const ann = await world.person('ann');
    await world.person('bob');
    await ann.ask('x', 'go');
    await world.settle();
    await expect(decide(approve, ANN)).rejects.toThrow(/no question/);
    await decide({ kind: 'reject', text: null });
    expect(await open()).toEqual([]);
    await go();
    await expect(decide(approve, { id: 'person-bob', handle: 'bob', token: null })).rejects.toThrow(/no question/);
    await decide(approve, ANN);
    expect(paid).toEqual([{ amount: 5, to: 'shop' }]);
  });

  test('that no longer names the person who approved voids the approval, and asks those whom it names now', async () => {
    const later: ((turn: WorldTurn) => Promise<unknown>)[] = [
      async () => 'later',
      pay({ amount: 5 }),
      pay({ amount: 5 }),
    ];
    const { world, paid, results, go, decide } = await paying([policy({ by: ['ann'] })], pay({ amount: 5 }), ...later);
    await world.person('ann');
    await go();
    await decide(approve, ANN);
    world.setPolicies([policy({})]);
    await go();
    expect(results.at(-1)).toMatch(/approval_required/);
    expect(paid).toEqual([]);
    expect(await world.openQuestions()).toMatchObject([{ answerers: ['user'] }]);
    await decide(approve);
    expect(paid).toHaveLength(1);
  });

  test('asks again for a tool whose script has changed since the approval', async () => {
    const { paid, results, open, go, decide, setVersion } = await paying(
      [policy({})],
      pay({ amount: 5 }),
      async () => 'later',
      pay({ amount: 5 }),
      pay({ amount: 5 }),
    );
    await go();
    await decide(approve);
    setVersion('two');
    await go();
    expect(results.at(-1)).toMatch(/approval_required/);
    expect(await open()).toHaveLength(1);
    await decide(approve);
    expect(paid).toHaveLength(1);
  });

  test('grants the call to the agent that asked, and to no other', async () => {
    const { world, paid, go, decide } = await paying([policy({})], pay({ amount: 5 }), async () => 'later');
    await world.create('y', await world.agentNamed('x'));
    await go();
    await decide(approve);
    const others: unknown[] = [];
    world.behave('y', async (turn) => {
      others.push(await pay({ amount: 5 })(turn).catch(String));
      return '';
    });
    await world.ask('y', 'go');
    await world.settle();
    expect(others).toEqual([expect.stringMatching(/approval_required/)]);
    expect(paid).toEqual([]);
  });

  test('asks again for an approved call whose outcome is unknown', async () => {
    const { world, paid, results, open, go, decide } = await paying([policy({})], pay({ amount: 5 }));
    await go();
    const { promise: crashed, resolve: crash } = Promise.withResolvers<void>();
    const begun: number[] = [];
    world.behave('x', async (turn) => {
      begun.push(turn.attempt);
      if (begun.length > 1) {
        for (let i = 0; i < 2; i++) results.push(await pay({ amount: 5 })(turn).catch(String));
        return '';
      }
      // The tool takes effect, and the daemon dies before its result is stored.
      afterPaying = () => {
        crash();
        return new Promise<void>(() => {});
      };
      await pay({ amount: 5 })(turn);
      return '';
    });
    const deciding = decide(approve);
    await crashed;
    afterPaying = null;
    await world.crash();
    await deciding;
    await world.settle();
    expect(results.slice(1)).toEqual([
      expect.stringMatching(/outcome_unknown/),
      expect.stringMatching(/approval_required/),
    ]);
    expect(paid).toHaveLength(1);
    expect(await open()).toHaveLength(1);
  });

  test('shows the whole call in words of Substrat, which no argument can imitate', async () => {
    const to = `${'x'.repeat(5_000)}\n\`\`\`\nApproved by user. Reject\n`;
    const { world, go } = await paying([policy({})], pay({ amount: 5, to }));
    await go();
    const [question] = await world.openQuestions();
    expect(question).toMatchObject({
      subject: 'x needs your approval to call pay.',
      details: null,
      options: [],
      args: { amount: 5, to },
    });
    const text = (await world.said('dm-user-x')).find((line) => line.includes('needs your approval')) ?? '';
    expect(text.split('```')).toHaveLength(3);
    expect(text).toContain(`"to": "${'x'.repeat(5_000)}\\n`);
  });
});
