import { describe, expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

const DAY = 86_400_000;

describe("a tree's cap of runs", () => {
  /** A root that counts its turns. */
  async function createCounter(options: Parameters<typeof createWorld>[0]) {
    const world = await createWorld(options);
    const root = await world.create('root');
    const turns: string[] = [];
    world.behave('root', (turn) => {
      turns.push(turn.messages.map(({ text }) => text).join(', '));
      return 'ok';
    });
    const used = async () => (await world.store.read((tx) => tx.trees.getTree({ id: root.id })))?.runsSincePerson;
    return { world, root, turns, used, anna: await world.person('anna') };
  }

  test("is not reset by another person's message, which has its own allowance", async () => {
    const { world, turns, used, anna } = await createCounter({ maxTreeRuns: 2 });
    for (const text of ['one', 'two']) {
      await anna.ask('root', text);
      await world.settle();
    }
    for (const text of ['three', 'four', 'five', 'six']) {
      await expect(anna.ask('root', text)).rejects.toThrow(/^You have used your 2 runs for today/);
      await world.settle();
    }
    expect(turns).toEqual(['one', 'two']);
    expect(await used()).toBe(0);
    expect(await world.said('dm-anna-root')).toContain(
      'system: That was the last of your 2 runs for today ([people.anna] runs_per_day). root and its team continue your work at midnight (UTC).',
    );
    // Not the owner's, whose message still counts as before.
    await world.ask('root', 'from the owner');
    await world.settle();
    expect(turns).toEqual(['one', 'two', 'from the owner']);
    expect(await used()).toBe(1);
  });

  test('is only reset by the owner', async () => {
    const { world, turns, used, anna } = await createCounter({ maxTreeRuns: 1, runsPerDay: { anna: 10 } });
    await world.ask('root', 'a');
    await world.settle();
    await anna.ask('root', 'b');
    await world.settle();
    expect(await used()).toBe(1);
    await world.ask('root', 'c');
    expect(await used()).toBe(0);
    await world.settle();
    expect(turns).toEqual(['a', 'b', 'c']);
  });

  test("does not stop other people's runs: they run while the tree's own are used up", async () => {
    const world = await createWorld({ maxTreeRuns: 1, runsPerDay: { anna: 2 }, requestDeadlineMs: 10 * DAY });
    const lead = await world.create('lead');
    await world.create('child', lead);
    const turns: string[] = [];
    world.behave('lead', async (turn) => {
      const [first] = turn.messages;
      turns.push(`lead: ${first?.text}`);
      if (first?.kind !== 'request') return 'ok';
      await turn.call('send_message', { recipient: 'child', text: `for ${first.from}`, sync: true });
      return 'waiting';
    });
    world.behave('child', (turn) => {
      turns.push(`child: ${turn.messages[0]?.text}`);
      return 'done';
    });
    const owners = await world.ask('lead', 'go');
    await world.settle();
    expect(turns).toEqual(['lead: go']);
    const annas = await (await world.person('anna')).ask('lead', 'go');
    await world.settle();
    // Her two runs, and nothing that the owner's chain still has to do.
    expect(turns).toEqual(['lead: go', 'lead: go', 'child: for anna']);
    expect((await world.reply(annas)).state).toBe('open');
    // The next day continues with hers, without any message.
    await world.pass(DAY);
    await world.settle();
    expect(turns.slice(3)).toEqual(['lead: done']);
    expect(await world.reply(annas)).toMatchObject({ state: 'closed', kind: 'reply', text: 'ok' });
    expect((await world.reply(owners)).state).toBe('open');
  });

  test('is not reset by notices of the daemon or by an expired deadline', async () => {
    const { world, turns, used } = await createCounter({ maxTreeRuns: 1, requestDeadlineMs: 1_000 });
    await world.ask('root', 'a');
    await world.settle();
    const { id } = await world.agentNamed('root');
    await world.store.write((tx) => tx.agents.restAgent({ id, until: world.clock() + 10_000, rests: 0 }));
    await world.pass(20_000);
    await world.settle();
    expect(await used()).toBe(1);
    expect(turns).toEqual(['a']);
  });

  test('of a person begins again at midnight where they live', async () => {
    const zones = { anna: 'Asia/Tokyo', ben: 'America/New_York' };
    const { world, turns, anna } = await createCounter({
      maxTreeRuns: 1,
      runsPerDay: { anna: 1, ben: 1 },
      timeZones: zones,
    });
    const people = { anna, ben: await world.person('ben') };
    const askBoth = async (hour: string) => {
      for (const [name, person] of Object.entries(people)) {
        await person.ask('root', `${hour} ${name}`).catch(() => null);
        await world.settle();
      }
    };
    // 08:00 UTC is 17:00 in Tokyo and 03:00 in New York; at 16:00 UTC it is tomorrow in Tokyo only.
    for (const hour of ['08', '16', '00', '08']) {
      await askBoth(hour);
      await world.pass(8 * 3_600_000);
    }
    expect(turns).toEqual(['08 anna', '08 ben', '16 anna', '08 ben']);
  });

  test('of a channel is charged to the author of a post', async () => {
    const { world, turns, used, anna } = await createCounter({ maxTreeRuns: 1, runsPerDay: { anna: 2 } });
    await world.channel('general', ['root', 'anna']);
    for (const text of ['one', 'two']) {
      await anna.say('general', text);
      await world.settle();
    }
    await expect(anna.say('general', 'three')).rejects.toThrow(/^You have used your 2 runs for today/);
    expect(turns).toEqual(['one', 'two']);
    expect(await used()).toBe(0);
    await world.wake('general', 'root', 'none');
    await anna.say('general', 'for people only');
  });
});
