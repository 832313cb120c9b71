import { describe, expect, test } from 'vitest';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

/** `amy` broadcasts what a person tells her; the test decides how her siblings answer. */
async function createTeam(siblings: readonly string[], options: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld({ slots: 8, ...options });
  const lead = await world.create('lead');
  await world.create('amy', lead);
  for (const name of siblings) await world.create(name, lead);
  const amys: WorldTurn[] = [];
  let sent: Record<string, unknown> = {};
  world.behave('amy', async (turn) => {
    const [first] = turn.messages;
    if (first?.kind === 'request') {
      sent = await turn.call('broadcast', { text: first.text });
      return 'asked everybody';
    }
    amys.push(turn);
    return '';
  });
  return { world, lead, amys, id: () => sent.message_id as string };
}

const heard = (turn: WorldTurn | undefined) => turn?.messages.map(({ kind, from, text }) => `${kind} ${from}: ${text}`);

describe('the replies to a broadcast', () => {
  test('are the final texts, one message per respondent, and wake the broadcaster once, with a list of those who did not reply', async () => {
    const { world, amys, id } = await createTeam(['bob', 'cal', 'dan', 'eve', 'fay']);
    const prompts: string[] = [];
    world.behave('bob', (turn) => {
      prompts.push(turn.prompt);
      return 'bob can';
    });
    world.behave('cal', async (turn) => {
      await turn.call('do_nothing');
      return 'these words go nowhere';
    });
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    world.behave('dan', () => hold);
    world.behave('eve', () => '   ');
    world.behave('fay', () => '(no reply)');
    await world.ask('amy', 'who can help?');
    while ((await world.view('dan')).running === 0 || (await world.view('bob')).pending > 0) await world.tick();
    await expect.poll(async () => (await world.view('bob')).running, { timeout: 10_000 }).toBe(0);
    // Nothing reaches her while a sibling has not finished.
    expect(await world.view('amy')).toMatchObject({ running: 0, pending: 0 });
    resolve('so can dan');
    await world.settle();
    expect(prompts).toEqual([
      `Message from amy (message ${id()}, to all siblings; your final text is sent back to amy, do_nothing prevents it):\nwho can help?`,
    ]);
    expect(amys).toHaveLength(1);
    expect(amys[0]?.prompt).toBe(
      [
        `Reply from bob (to message ${id()}):\nbob can`,
        `Reply from dan (to message ${id()}):\nso can dan`,
        `Notice from Substrat:\nOn your broadcast (message ${id()}): no reply from cal, eve, fay.`,
      ].join('\n\n'),
    );
  });

  test('arrive after a minute without those who have not finished, whose reply is late', async () => {
    const { world, amys } = await createTeam(['bob', 'cal']);
    world.behave('bob', () => 'bob can');
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    world.behave('cal', () => hold);
    await world.ask('amy', 'who can help?');
    while ((await world.view('cal')).running === 0) await world.tick();
    await expect.poll(async () => (await world.view('bob')).running, { timeout: 10_000 }).toBe(0);
    await world.pass(59_000);
    expect(amys).toHaveLength(0);
    await world.pass(2_000);
    await expect.poll(() => amys.length, { timeout: 10_000 }).toBe(1);
    expect(heard(amys[0])).toEqual([
      'reply bob: bob can',
      expect.stringMatching(/^notice system: On your broadcast \(message .*\): no answer yet from cal\.$/),
    ]);
    resolve('cal too');
    await world.settle();
    expect(amys.slice(1).map(heard)).toEqual([['late cal: cal too']]);
  });

  test('do not leak other conversations: a run that carries more sends nothing back', async () => {
    const { world, amys, lead } = await createTeam(['bob', 'cal']);
    const prompts: string[] = [];
    for (const name of ['bob', 'cal']) {
      world.behave(name, (turn) => {
        prompts.push(...turn.messages.map(({ broadcast }) => String(broadcast)));
        return `a secret of ${name}`;
      });
    }
    world.behave('lead', async (turn) => {
      await turn.call('send_message', { recipient: 'bob', text: 'between us', sync: false });
      return '';
    });
    // Both reach bob before he can run, and cal serves a person's request with it.
    for (const name of ['bob', 'cal']) {
      const { id } = await world.agentNamed(name);
      await world.store.write((tx) => tx.agents.restAgent({ id, until: world.clock() + 1000, rests: 1 }));
    }
    await world.ask('amy', 'who can help?');
    await world.ask('lead', 'tell bob');
    await world.settle();
    const id = await world.ask('cal', 'for cal alone');
    await world.pass(1001);
    await world.settle();
    expect(lead.name).toBe('lead');
    expect(prompts.sort()).toEqual(['heard', 'heard', 'undefined', 'undefined']);
    expect(await world.reply(id)).toMatchObject({ text: 'a secret of cal' });
    expect(amys.map(heard)).toEqual([[expect.stringMatching(/^notice system: .* no reply from bob, cal\.$/)]]);
  });

  test('are what a respondent wrote to the broadcaster, instead of the final text', async () => {
    const { world, amys } = await createTeam(['bob', 'cal']);
    world.behave('bob', async (turn) => {
      const sent = await turn.call('send_message', { recipient: 'amy', text: 'I can' });
      expect(sent).toMatchObject({ waiting_for_reply: false });
      return 'I told amy';
    });
    world.behave('cal', () => 'me too');
    await world.ask('amy', 'who can help?');
    await world.settle();
    expect(amys).toHaveLength(1);
    expect(heard(amys[0])?.sort()).toEqual(['reply bob: I can', 'reply cal: me too']);
  });

  test('are not awaited from an agent that fails, is cancelled or ends', async () => {
    const { world, amys } = await createTeam(['bob', 'cal', 'dan'], { maxAttempts: 1 });
    world.behave('bob', () => ({ failure: 'crash' }));
    let runId = '';
    world.behave('cal', (turn) => {
      runId = turn.runId;
      return new Promise(() => {});
    });
    world.behave('dan', () => new Promise(() => {}));
    await world.ask('amy', 'who can help?');
    while ((await world.view('dan')).running === 0 || runId === '') await world.tick();
    await world.cancel(runId);
    await expect.poll(async () => (await world.view('bob')).running, { timeout: 10_000 }).toBe(0);
    await world.terminate('dan');
    await world.settle();
    expect(amys.map(heard)).toEqual([[expect.stringMatching(/^notice system: .* no reply from bob, cal, dan\.$/)]]);
  });

  test('end with the chain: at the maximum depth they and a broadcast wake nobody, and the next run carries them', async () => {
    const world = await createWorld({ slots: 8 });
    const lead = await world.create('lead');
    for (const name of ['amy', 'bob']) await world.create(name, lead);
    const depths: string[] = [];
    const all: string[] = [];
    for (const name of ['amy', 'bob']) {
      world.behave(name, async (turn) => {
        const { chainDepth } = (await world.store.read((tx) => tx.runs.getRun({ id: turn.runId }))) ?? {};
        depths.push(`${name} ${chainDepth}`);
        all.push(...turn.messages.map(({ text }) => `${name} hears ${text}`));
        await turn.call('broadcast', { text: `thanks all, says ${name} at ${chainDepth}` });
        return `noted by ${name} at ${chainDepth}`;
      });
    }
    await world.ask('amy', 'go');
    await world.settle();
    await world.pass(61_000);
    await world.settle();
    const runs = depths.length;
    expect(runs).toBeGreaterThan(3);
    expect(runs).toBeLessThan(20);
    // Whichever ran last has heard everything; the other has not.
    const waiting = await Promise.all(
      ['amy', 'bob'].map(async (name) => {
        const { id } = await world.agentNamed(name);
        return {
          name,
          id,
          quiet: await world.store.read((tx) => tx.deliveries.listPending({ agentId: id, limit: 99 })),
        };
      }),
    );
    const { name, id, quiet } = waiting.find((one) => one.quiet.length > 0) ?? expect.fail('nothing waits');
    await world.store.write((tx) => tx.runs.wakeAgent({ agentId: id, now: world.clock() }));
    expect(await world.store.read((tx) => tx.runs.getLiveRun({ agentId: id }))).toBeNull();
    world.behave(name, (turn) => {
      all.push(...turn.messages.map(({ text }) => `${name} hears ${text}`));
      return 'done';
    });
    await world.ask(name, 'what else?');
    await world.settle();
    expect(depths).toHaveLength(runs);
    for (const { text } of quiet) expect(all).toContain(`${name} hears ${text}`);
  });
});
