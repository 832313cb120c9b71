import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { runSubstrat } from '../helpers/substrat.ts';

const TEAM = `[daemon]
default_provider = "external"
[agents.careful]
description = "Careful"
system_prompt = "Be careful."
tools = ["search_memory"]
[members.lead]
role = "lead"
instructions = "Old."
model = "m1"
[members.lead.blocks]
plan = "the plan"
style = "short"
[members.ann]
parent = "lead"
persona = "careful"
[members.ben]
parent = "lead"
[channels.general]
topic = "All"
members = ["lead", "ann"]
`;

/** A daemon with a team, and a way to edit its file. */
async function startTeam(config = TEAM) {
  const world = await startDaemon({ config });
  onTestFinished(() => world.stop());
  const file = join(world.directory, 'substrat.toml');
  return {
    ...world,
    edit: (...changes: (readonly [string, string])[]) => {
      let text = readFileSync(file, 'utf8');
      for (const [from, to] of changes) {
        expect(text).toContain(from);
        text = text.replace(from, to);
      }
      writeFileSync(file, text);
    },
    add: (text: string) => appendFileSync(file, text),
    /** What the call says, in short lines. */
    apply: async (wish: Parameters<TestDaemon['client']['apply']>[0] = {}) =>
      (await world.client.apply(wish)).items.map(({ action, kind, name, field }) =>
        [action, `${kind}.${name}`, field ?? []].flat().join(' '),
      ),
  };
}

describe('applying the configuration', () => {
  test('a program and a workspace for an agent of another node are skipped, and listed', async () => {
    const { client, daemon, edit } = await startTeam();
    const { nodeId } = daemon.api;
    await daemon.store.write((tx) => tx.nodes.adoptNode({ from: nodeId, to: 'elsewhere' }));
    edit(['role = "lead"', 'role = "lead"\nworkspace = "/srv/site"\nprogram = "/srv/lead.ts"']);
    const { items } = await client.apply({ dryRun: true });
    expect(items).toMatchObject([
      {
        name: 'lead',
        action: 'left',
        field: 'program',
        to: '/srv/lead.ts',
        note: expect.stringContaining('elsewhere'),
      },
      { name: 'lead', action: 'left', field: 'workspace', to: '/srv/site' },
    ]);
    await daemon.store.write((tx) => tx.nodes.adoptNode({ from: 'elsewhere', to: nodeId }));
  });

  test('a file that did not change changes nothing', async () => {
    const { apply, client } = await startTeam();
    const before = (await client.listAgents()).items;
    expect(await apply()).toEqual([]);
    expect((await client.listAgents()).items).toEqual(before);
  });

  test('changes what the file changed, after a dry run that changes nothing', async () => {
    const { apply, client, edit, add } = await startTeam();
    const lead = await client.getAgent('lead');
    edit(
      ['"Old."', '"New."'],
      ['role = "lead"', 'role = "boss"'],
      ['topic = "All"', 'topic = "Everything"'],
      ['members = ["lead", "ann"]', 'members = ["lead", "ben", "cat"]'],
      ['tools = ["search_memory"]', 'tools = ["search_memory", "store_memory"]'],
    );
    add('[members.cat]\ninstructions = "Meow."\n');
    const expected = [
      'change member.lead role',
      'change member.lead instructions',
      'create member.cat',
      'change channel.general topic',
      'change channel.general members',
      'change channel.general members',
      'change channel.general members',
      'change persona.careful',
    ];
    // A member that does not exist yet cannot be looked up in a dry run.
    expect(await apply({ dryRun: true })).toEqual(expected.toSpliced(5, 1));
    expect(await client.getAgent('lead')).toEqual(lead);
    expect(await apply()).toEqual(expected);
    expect(await client.getAgent('lead')).toMatchObject({
      id: lead.id,
      handle: 'lead',
      role: 'boss',
      instructions: 'New.',
      model: 'm1',
      revision: 2,
    });
    const members = (await client.listMembers('general')).items.map(({ handle }) => handle);
    expect(members.sort()).toEqual(['ben', 'cat', 'lead', 'user']);
    expect((await client.getChannel('general')).topic).toBe('Everything');
    expect(await apply()).toEqual([]);
  });

  test("keeps people's changes until the file changes the same, and then takes neither side in silence", async () => {
    const { apply, client, edit } = await startTeam();
    await client.changeAgent('lead', { model: 'mine', role: 'mine' });
    expect(await apply()).toEqual([]);
    edit(['model = "m1"', 'model = "m2"'], ['"Old."', '"New."']);
    expect(await apply()).toEqual(['change member.lead instructions', 'conflict member.lead model']);
    expect(await client.getAgent('lead')).toMatchObject({ model: 'mine', role: 'mine', instructions: 'New.' });
    expect(await apply()).toEqual(['conflict member.lead model']);
    expect((await client.getStatus()).notices.join()).toContain('members.lead model');
    expect(await apply({ force: true })).toEqual(['change member.lead model']);
    expect(await client.getAgent('lead')).toMatchObject({ model: 'm2', role: 'mine' });
    expect((await client.getStatus()).notices.join()).not.toContain('members.lead');
    edit(['model = "m2"\n', '']);
    expect(await apply()).toEqual(['left member.lead model']);
    expect(await apply()).toEqual([]);
    expect((await client.getAgent('lead')).model).toBe('m2');
  });

  test('knows a member that was renamed, and does not bring back one that ended', async () => {
    const { apply, client, edit, daemon } = await startTeam();
    const ann = await client.renameAgent('ann', 'anna');
    edit(['topic = "All"', 'topic = "Everything"']);
    expect(await apply()).toEqual(['change channel.general topic']);
    expect((await client.listAgents()).items).toHaveLength(3);
    await client.terminateAgent('anna');
    expect(await apply()).toEqual(['left member.ann']);
    expect(await apply({ recreate: ['ann'] })).toEqual(['create member.ann', 'change channel.general members']);
    const again = await client.getAgent('lead/ann');
    expect(again.id).not.toBe(ann.id);
    const members = await daemon.store.read((tx) =>
      tx.channels.isMember({ channelId: 'general', participantId: again.id }),
    );
    expect(members).toBe(true);
    expect(await apply()).toEqual([]);
  });

  test('never overwrites a block that somebody changed', async () => {
    const { apply, client, edit } = await startTeam();
    await client.setBlock('lead', 'plan', 'what I learned');
    edit(['"the plan"', '"another plan"'], ['"short"', '"long"']);
    const items = ['conflict member.lead blocks.plan', 'change member.lead blocks.style'];
    expect(await apply({ force: true })).toEqual(items);
    const text = async (label: string) => (await client.getBlock('lead', label)).text;
    expect([await text('plan'), await text('style')]).toEqual(['what I learned', 'long']);
    edit(['style = "long"', 'style = "long"\nfresh = "new"']);
    expect(await apply()).toEqual(['conflict member.lead blocks.plan', 'change member.lead blocks.fresh']);
    expect(await text('fresh')).toBe('new');
  });

  test('leaves what the file no longer names, and says what only a restart changes', async () => {
    const { apply, client, edit } = await startTeam();
    edit(['[members.ben]\nparent = "lead"\n', ''], ['[daemon]', '[daemon]\nslots = 9']);
    expect(await apply()).toEqual(['left member.ben', 'left section.daemon']);
    expect((await client.getAgent('ben')).state).toBe('idle');
  });

  test('a file with an error, or a change that cannot be made, breaks nothing', async () => {
    const { apply, client, edit } = await startTeam();
    edit(['role = "lead"', 'rolle = "lead"']);
    await expect(apply()).rejects.toThrow('rolle');
    edit(['rolle = "lead"', 'role = "lead"\nprogram = "/no/such/program"'], ['"Old."', '"New."']);
    const { items } = await client.apply();
    expect(items).toMatchObject([
      { action: 'left', name: 'lead', note: 'The program /no/such/program does not exist.' },
    ]);
    expect((await client.getAgent('lead')).instructions).toBe('Old.');
  });

  test('another persona brings its tools, unless people chose others', async () => {
    const { apply, client, edit, add } = await startTeam();
    add('[agents.bold]\ndescription = "Bold"\nsystem_prompt = "Be bold."\ntools = ["store_memory"]\n');
    edit(['persona = "careful"', 'persona = "bold"']);
    await apply();
    expect(await client.getAgent('ann')).toMatchObject({ persona: 'bold', tools: ['store_memory'] });
    await client.changeAgent('ann', { tools: ['list_agents'] });
    edit(['persona = "bold"', 'persona = "careful"']);
    await apply();
    expect(await client.getAgent('ann')).toMatchObject({ persona: 'careful', tools: ['list_agents'] });
  });

  test('is a command that prints the difference', async () => {
    const { home, edit } = await startTeam();
    const run = async (...args: string[]) => (await runSubstrat(['apply', ...args], { home })).stdout;
    expect(await run()).toBe('Nothing to change.\n');
    edit(['role = "lead"', 'role = "boss"']);
    const line = '~ [members.lead] role: lead -> boss\n';
    expect(await run('--dry-run')).toBe(`${line}1 to change. Run \`substrat apply\` to apply them.\n`);
    expect(await run()).toBe(`${line}Applied 1.\n`);
    expect(await run()).toBe('Nothing to change.\n');
  });
});
