import { describe, expect, test } from 'vitest';
import { askApproval, type Decision, decide } from '../../src/messaging/questions.ts';
import { createWorld, type WorldOptions, type WorldTurn } from '../helpers/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const OWNER: { id: string; handle: string; token: string | null } = { id: 'user', handle: 'user', token: null };
const QUESTION = { question: 'Which branch?', options: ['main', 'next'] };

/** A world whose agent x does one thing when a person writes `go`, and notes what its other turns begin with. */
async function asking(first: (turn: WorldTurn) => Promise<unknown>, options: WorldOptions = {}) {
  const world = await createWorld(options);
  await world.create('x');
  const heard: string[][] = [];
  const results: Record<string, unknown>[] = [];
  world.behave('x', async (turn) => {
    if (turn.messages.some(({ text }) => text === 'go')) results.push((await first(turn)) as Record<string, unknown>);
    else heard.push(turn.messages.map(({ kind, text }) => `${kind}: ${text}`));
    return 'done';
  });
  const { rules } = world;
  return {
    world,
    heard,
    results,
    go: async () => {
      const id = await world.ask('x', 'go');
      await world.settle();
      return id;
    },
    pass: async (ms: number) => {
      await world.pass(ms);
      await world.settle();
    },
    decide: async (id: unknown, decision: Decision, who = OWNER) => {
      const question = await world.store.write((tx) => decide(tx, rules, who, String(id), decision, world.clock()));
      await world.settle();
      return question;
    },
    question: (id: unknown) => world.store.read((tx) => tx.questions.getQuestion({ id: String(id) })),
  };
}

const ask =
  (args: object = QUESTION) =>
  (turn: WorldTurn) =>
    turn.call('ask_person', args);
const answer = (text: string): Decision => ({ kind: 'answer', text });

describe('a question', () => {
  test('frees the slot, waits without a run, and its answer wakes the asker once with the text', async () => {
    const { world, heard, results, go, decide, question, pass } = await asking(ask(), { slots: 1 });
    const request = await go();
    const [asked] = results;
    expect(asked).toMatchObject({ status: 'asked', question_id: expect.any(String), next: /End your turn/ as never });
    expect(world.scheduler().liveRuns()).toEqual([]);
    expect((await world.view('x')).asking).toBe(1);
    expect(await world.reply(request)).toMatchObject({ state: 'open' });
    await decide(asked?.question_id, answer('next'));
    expect(heard).toEqual([['reply: next']]);
    expect(await question(asked?.question_id)).toMatchObject({ outcome: 'answered', note: 'next', settledBy: 'user' });
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'done' });
    await pass(8 * DAY);
    expect(heard).toHaveLength(1);
  });

  test('a second answer is refused with the reason, and changes nothing', async () => {
    const { results, heard, go, decide, question } = await asking(ask());
    await go();
    const id = results[0]?.question_id;
    await decide(id, answer('main'));
    await expect(decide(id, answer('next'))).rejects.toThrow(/closed: answered by user at 20/);
    expect(await question(id)).toMatchObject({ note: 'main' });
    expect(heard).toHaveLength(1);
  });

  test('of two answers at once, and of an answer at the moment of expiry, one holds', async () => {
    const { world, results, heard, go, decide, question } = await asking(ask());
    await go();
    const id = results[0]?.question_id;
    const both = await Promise.allSettled([decide(id, answer('main')), decide(id, answer('next'))]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(heard).toHaveLength(1);
    await go();
    const again = results[1]?.question_id;
    const [late] = await Promise.allSettled([decide(again, answer('main')), world.pass(7 * DAY)]);
    await world.settle();
    const settled = await question(again);
    expect(settled?.outcome).toBe(late.status === 'fulfilled' ? 'answered' : 'expired');
    expect(heard).toHaveLength(2);
  });

  test('expires once, and a late answer is refused', async () => {
    const { results, heard, go, pass, decide, question } = await asking(ask(), { questionDeadlineMs: HOUR });
    await go();
    await pass(HOUR - MINUTE);
    expect(heard).toEqual([]);
    await pass(MINUTE);
    expect(heard).toEqual([['error: user did not answer before the deadline.']]);
    expect(await question(results[0]?.question_id)).toMatchObject({ outcome: 'expired' });
    await expect(decide(results[0]?.question_id, answer('main'))).rejects.toThrow(/closed: expired/);
    await pass(DAY);
    expect(heard).toHaveLength(1);
  });

  test('asked again while it is open, it is the same one; afterwards it is a new one', async () => {
    const { world, results, go, decide } = await asking(async (turn) => {
      await turn.call('ask_person', QUESTION);
      return turn.call('ask_person', QUESTION);
    });
    await go();
    const [first] = results;
    expect(first).toMatchObject({ already_open: true });
    const open = await world.store.read((tx) =>
      tx.questions.listQuestions({ participantId: null, open: true, before: 2 ** 50, limit: 9 }),
    );
    expect(open.map(({ id }) => id)).toEqual([first?.question_id]);
    await decide(first?.question_id, answer('main'));
    await go();
    expect(results[1]?.question_id).not.toBe(first?.question_id);
  });

  test('is cancelled with its asker; nobody is woken, and an answer is refused', async () => {
    const { world, results, heard, go, decide, question } = await asking(ask());
    await go();
    await world.terminate('x');
    const id = results[0]?.question_id;
    expect(await question(id)).toMatchObject({ outcome: 'cancelled' });
    await expect(decide(id, answer('main'))).rejects.toThrow(/closed: cancelled by system/);
    expect(heard).toEqual([]);
  });

  test('is cancelled when the request that it was asked for is closed; the notice starts no turn', async () => {
    const { world, results, heard, go, question } = await asking(async (turn) => {
      const asked = await turn.call('ask_person', QUESTION);
      await turn.call('send_message', { recipient: 'USER', text: 'I chose main.', in_reply_to: turn.messages[0]?.id });
      return asked;
    });
    await go();
    expect(await question(results[0]?.question_id)).toMatchObject({ outcome: 'cancelled' });
    expect(heard).toEqual([]);
    await world.ask('x', 'hello');
    await world.settle();
    expect(heard).toEqual([[expect.stringContaining('was cancelled'), 'request: hello']]);
  });

  test('that does not block outlives the request, and leaves its asker open for news', async () => {
    const { world, results, heard, go, decide } = await asking(ask({ ...QUESTION, blocking: false }));
    const request = await go();
    expect(await world.reply(request)).toMatchObject({ state: 'closed', text: 'done' });
    await world.ask('x', 'news?', undefined);
    await world.settle();
    // The only open question is answered by a message in the DM.
    expect(heard).toEqual([['reply: news?']]);
    await expect(decide(results[0]?.question_id, answer('main'))).rejects.toThrow(/closed: answered/);
  });

  test('holds the deadlines of the requests that wait for it', async () => {
    const world = await createWorld({ requestDeadlineMs: HOUR });
    const lead = await world.create('lead');
    await world.create('w', lead);
    let questionId = '';
    world.behave('w', async (turn) => {
      if (turn.messages[0]?.kind === 'reply') return `chose ${turn.messages[0].text}`;
      questionId = String((await turn.call('ask_person', QUESTION)).question_id);
      return 'asked';
    });
    world.behave('lead', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return turn.messages.map(({ text }) => text).join();
      await turn.call('send_message', { recipient: 'w', text: 'choose' });
      return 'waiting';
    });
    const request = await world.ask('lead', 'go');
    await world.settle();
    await world.pass(3 * DAY);
    await world.settle();
    expect(await world.reply(request)).toMatchObject({ state: 'open' });
    await world.store.write((tx) => decide(tx, world.rules, OWNER, questionId, answer('main'), world.clock()));
    await world.settle();
    expect(await world.reply(request)).toMatchObject({ state: 'closed', kind: 'reply', text: 'chose main' });
  });

  test('goes to the person whose word began the work; the owner may answer, others may not', async () => {
    const { world, results, heard, decide, question } = await asking(ask());
    const ann = await world.person('ann');
    await world.person('bob');
    await ann.ask('x', 'go');
    await world.settle();
    const id = results[0]?.question_id;
    expect(await question(id)).toMatchObject({ answerers: ['person-ann'] });
    const bob = { id: 'person-bob', handle: 'bob', token: 't' };
    await expect(decide(id, answer('main'), bob)).rejects.toThrow(/no question/);
    await decide(id, answer('main'), { id: 'person-ann', handle: 'ann', token: 't1' });
    expect(heard).toEqual([['reply: main']]);
    expect(await question(id)).toMatchObject({ settledBy: 'person-ann', settledWith: 't1' });
  });

  test('an agent has at most 5 open questions', async () => {
    const errors: string[] = [];
    const { go } = await asking(async (turn) => {
      for (let i = 0; i < 6; i++)
        await turn.call('ask_person', { question: `${i}?` }).catch((error) => errors.push(String(error)));
    });
    await go();
    expect(errors).toEqual([expect.stringContaining('You have 5 open questions')]);
  });
});

describe('questions of a team', () => {
  test('a tree has at most 20 open questions', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const errors: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await world.create(name, lead);
      world.behave(name, async (turn) => {
        for (let i = 0; i < 5; i++) {
          const ask = turn.call('ask_person', { question: `${i}?` });
          await ask.catch(({ message }: Error) => errors.push(message));
        }
        return 'done';
      });
      await world.ask(name, 'go');
      await world.settle();
    }
    expect(await world.openQuestions()).toHaveLength(20);
    expect(errors).toEqual(Array(5).fill(expect.stringContaining('cap_reached: Your tree has 20 open questions')));
  });

  test('of an agent whom the person does not see goes to the owner', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('w', lead);
    const ann = await world.person('ann');
    world.behave('lead', async (turn) => {
      if (turn.messages[0]?.kind === 'request') await turn.call('send_message', { recipient: 'w', text: 'choose' });
      return 'waiting';
    });
    world.behave('w', async (turn) => {
      await turn.call('ask_person', QUESTION);
      return '';
    });
    await ann.ask('lead', 'go');
    await world.settle();
    expect(await world.openQuestions()).toMatchObject([{ handle: 'w', answerers: ['user'] }]);
  });

  test('that another person answers does not reset the cap of the tree; the owner’s answer does', async () => {
    const { world, results, go, decide, question } = await asking(ask(), { maxTreeRuns: 50, runsPerDay: { ann: 9 } });
    const ann = await world.person('ann');
    const { treeId } = await world.agentNamed('x');
    const used = async () => (await world.store.read((tx) => tx.trees.getTree({ id: treeId })))?.runsSincePerson;
    await go();
    await decide(results[0]?.question_id, answer('main'));
    // The answer reset it, and what it woke counts.
    expect(await used()).toBe(1);
    await ann.ask('x', 'go');
    await world.settle();
    const id = results[1]?.question_id;
    expect(await question(id)).toMatchObject({ answerers: ['person-ann'] });
    await decide(id, answer('main'), { id: 'person-ann', handle: 'ann', token: 't' });
    expect(await used()).toBe(1);
    const [paid] = await world.store.read((tx) => tx.trees.listPersonRuns({ from: 1, to: 2 ** 30 }));
    expect(paid).toMatchObject({ handle: 'ann', runs: 2 });
  });

  test('is cancelled when its asker completes', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('w', lead);
    world.behave('w', async (turn) => {
      await turn.call('ask_person', { ...QUESTION, blocking: false });
      await turn.call('complete', { result: 'I chose main.' });
      return '';
    });
    await world.ask('w', 'go');
    await world.settle();
    expect(await world.openQuestions()).toEqual([]);
  });

  test('that blocks does not keep news from its asker', async () => {
    const { world, heard, go } = await asking(ask());
    await go();
    await world.create('y', await world.agentNamed('x'));
    world.behave('y', async (turn) => {
      await turn.call('send_message', { recipient: 'x', text: 'the build broke', sync: false });
      return '';
    });
    await world.ask('y', 'build');
    await world.settle();
    expect(heard).toEqual([['news: the build broke']]);
  });
});

describe('an approval', () => {
  const call = { tool: 'deploy', input: { to: 'production' }, digest: 'd1', by: null };
  /** The agent's call needs an approval. */
  const needing = (options: WorldOptions = {}) => {
    const wanted = asking(
      (turn) =>
        wanted.then(({ world }) =>
          world.store.write(async (tx) => {
            const run = await tx.runs.getRun({ id: turn.runId });
            const agent = run && (await tx.agents.getAgent({ id: run.agentId }));
            if (!agent) throw new Error('no run');
            const asked = await askApproval(tx, world.rules, { agent, run }, call, world.clock());
            return { question_id: asked.questionId };
          }),
        ),
      options,
    );
    return wanted;
  };
  const use = async (world: Awaited<ReturnType<typeof createWorld>>, digest = 'd1') => {
    const { id: agentId } = await world.agentNamed('x');
    return world.store.write((tx) => tx.questions.tryUseGrant({ agentId, digest, by: ['user'], now: world.clock() }));
  };
  const approve: Decision = { kind: 'approve', text: null, revised: null };

  test('permits exactly one call with exactly these arguments', async () => {
    const { world, results, heard, go, decide } = await needing();
    await go();
    expect(await use(world)).toBe(false);
    await decide(results[0]?.question_id, { ...approve, text: 'Be careful.' });
    expect(heard[0]?.[0]).toMatch(
      /^reply: Approved: call deploy now, with exactly these arguments: {"to":"production"}\n.*one call.*\n\nBe careful\.$/s,
    );
    expect(await use(world, 'd2')).toBe(false);
    expect(await use(world)).toBe(true);
    expect(await use(world)).toBe(false);
  });

  test('with revised arguments permits these and not the ones asked for', async () => {
    const { world, results, heard, go, decide, question } = await needing();
    await go();
    const revised = { args: { to: 'staging' }, digest: 'd2' };
    await decide(results[0]?.question_id, { ...approve, revised });
    expect(await question(results[0]?.question_id)).toMatchObject({ outcome: 'revised' });
    expect(heard[0]?.[0]).toContain('with exactly these arguments: {"to":"staging"}');
    expect(await use(world)).toBe(false);
    expect(await use(world, 'd2')).toBe(true);
  });

  test('is void after a day, and when its agent is terminated', async () => {
    const { world, results, go, decide, pass } = await needing();
    await go();
    await decide(results[0]?.question_id, approve);
    await pass(DAY);
    expect(await use(world)).toBe(false);
    await go();
    await decide(results[1]?.question_id, approve);
    const { id: agentId } = await world.agentNamed('x');
    await world.terminate('x');
    const call = { agentId, digest: 'd1', by: ['user'], now: 0 };
    expect(await world.store.write((tx) => tx.questions.tryUseGrant(call))).toBe(false);
  });

  test('that was rejected is not asked again until a person writes or an hour has passed', async () => {
    const { world, results, heard, go, decide, pass } = await needing();
    await go();
    const reject: Decision = { kind: 'reject', text: 'Too early.' };
    await decide(results[0]?.question_id, reject);
    expect(heard[0]?.[0]).toBe('reply: Rejected: do not call deploy with {"to":"production"}.\n\nToo early.');
    const { id: agentId } = await world.agentNamed('x');
    const again = () =>
      world.store.write(async (tx) => {
        const agent = await tx.agents.getAgent({ id: agentId });
        const [last] = await tx.runs.listRuns({ agentId, state: null, before: null, limit: 1 });
        if (!agent || !last) throw new Error('no run');
        return askApproval(tx, world.rules, { agent, run: last }, call, world.clock());
      });
    await pass(MINUTE);
    await expect(again()).rejects.toThrow(/rejected this call of deploy/);
    await pass(HOUR);
    const { questionId } = await again();
    await decide(questionId, reject);
    await pass(MINUTE);
    await go();
    const third = await world.store.read((tx) => tx.questions.getQuestion({ id: String(results[1]?.question_id) }));
    expect(third?.subject).toContain('rejected before (2×)');
  });

  test('is not given in words', async () => {
    const { world, results, heard, go, question } = await needing();
    await go();
    const id = String(results[0]?.question_id);
    await expect(world.ask('x', 'yes', id)).rejects.toThrow(/is an approval/);
    await world.ask('x', 'yes');
    await world.settle();
    expect(heard).toEqual([['request: yes']]);
    expect(await question(id)).toMatchObject({ outcome: null });
  });
});
