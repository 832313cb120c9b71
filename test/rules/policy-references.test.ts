import { describe, expect, test } from 'vitest';
import type { Policy } from '../../src/core/policy.ts';
import { expandScope } from '../../src/core/scope.ts';
import { decide } from '../../src/messaging/questions.ts';
import { readArguments } from '../../src/tools/arguments.ts';
import { findTool, toolsInScope } from '../../src/tools/catalog.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const ALL = [...toolsInScope(null).map(({ name }) => name), ...expandScope(['control'])];
const OWNER = { id: 'user', handle: 'user', token: null };
const policy = (change: Partial<Policy>): Policy => ({
  name: 'careful',
  tool: 'send_message',
  action: 'deny',
  agent: null,
  persona: null,
  arguments: {},
  by: null,
  ...change,
});

/** x and its sibling, which was called `boss` once and is now `Chief`; another `boss` has the handle first. */
async function createOffice(policies: Policy[] = []) {
  const world = await createWorld({ policies });
  await world.create('boss');
  await world.change('boss', { name: 'elsewhere' });
  const lead = await world.create('lead', null, { tools: ALL });
  await world.create('x', lead, { tools: ALL });
  const boss = await world.create('boss', lead);
  await world.change('boss', { name: 'Chief' });
  const kid = await world.create('kid', await world.agentNamed('x'));
  const play = async (...calls: [tool: string, args: object][]) => {
    const results: string[] = [];
    world.behave('x', async (turn: WorldTurn) => {
      for (const [tool, args] of calls) {
        results.push(await turn.call(tool, args).then((result) => JSON.stringify(result), String));
      }
      return 'done';
    });
    await world.ask('x', 'go');
    await world.settle();
    return results;
  };
  const open = async () => {
    const page = { participantId: null, open: true, before: 2 ** 50, limit: 9 };
    return world.store.read((tx) => tx.questions.listQuestions(page));
  };
  return { world, play, open, boss, kid };
}

const say = (to: object): [string, object] => ['send_message', { text: 'hi', ...to }];
const DENIED = /forbidden: The policy "careful"/;

describe('a policy about a reference', () => {
  const written = ['chief', 'Chief', 'BOSS', 'lead.boss', 'lead/boss', 'lead/Chief', 'ch*', 'lead/*'];
  test.each(written)('holds for every spelling of the agent if it says %s', async (recipient) => {
    const { play } = await createOffice([policy({ arguments: { recipient } })]);
    const spelled = ['chief', 'CHIEF', 'boss', 'Boss'].map((one) => say({ recipient: one, sync: false }));
    const channels = ['dm-x-lead.boss', 'DM-lead.boss-X'].map((channelId) => say({ channelId }));
    expect(await play(...spelled, ...channels)).toEqual(Array(6).fill(expect.stringMatching(DENIED)));
  });

  test('holds for the id of the agent, and not for others', async () => {
    const { world, play, boss } = await createOffice();
    world.setPolicies([policy({ arguments: { recipient: boss.id } })]);
    expect(await play(say({ recipient: 'boss' }), say({ recipient: 'kid', sync: false }))).toEqual([
      expect.stringMatching(DENIED),
      expect.stringContaining('sent'),
    ]);
  });

  test.each(['dm-lead.boss-x', 'dm-x-lead.boss', 'DM-X-LEAD.BOSS', 'dm-*-x'])(
    'holds for the recipient and either order if it says the DM %s',
    async (channelId) => {
      const { play } = await createOffice([policy({ arguments: { channelId } })]);
      const calls = [
        { recipient: 'boss', sync: false },
        { channelId: 'dm-x-lead.boss' },
        { channelId: 'dm-lead.boss-x' },
      ];
      expect(await play(...calls.map(say))).toEqual(Array(3).fill(expect.stringMatching(DENIED)));
    },
  );

  test('holds for what reads, inspects, steers and subscribes', async () => {
    const { world, play } = await createOffice([
      policy({ tool: 'read_channel', arguments: { channelId: 'dm-lead.boss-x' } }),
      policy({ tool: 'inspect_agent', arguments: { name: 'kid' } }),
      policy({ tool: 'subscribe', arguments: { agent_name: 'lead.boss' } }),
      ...['gate', 'terminate_agent', 'poke', 'set_agent_metadata', 'permit_turn', 'ungate'].map((tool) =>
        policy({ tool, arguments: { agent_name: 'lead/x/kid' } }),
      ),
    ]);
    await world.change('kid', { name: 'child' });
    const results = await play(
      ['read_channel', { channelId: 'DM-x-lead.boss' }],
      ['inspect_agent', { name: 'Kid' }],
      ['inspect_agent', { name: 'child' }],
      ['subscribe', { agent_name: 'boss', transition: '*->idle' }],
      ...['gate', 'terminate_agent', 'poke', 'permit_turn', 'ungate'].map((tool): [string, object] => [
        tool,
        { agent_name: 'CHILD' },
      ]),
      ['set_agent_metadata', { agent_name: 'kid', key: 'a', value: 'b' }],
    );
    expect(results).toEqual(Array(10).fill(expect.stringMatching(DENIED)));
  });

  test('holds for the owner, a workspace, a block, a path and a default that is left out', async () => {
    const world = await createWorld();
    await world.create('root', null, { model: 'dear' });
    const results: string[] = [];
    const calls: [string, object][] = [
      ['create_workspace', { name: 'Lab' }],
      ['create_workspace', { name: 'view', view_of: 'lab' }],
      ['create_workspace', { name: 'other', view_of: 'LAB', subdir: 'b/../a/' }],
      ['delete_workspace', { name: 'lAb' }],
      ['link_dir', { workspace: 'LAB', source: '/srv/./a/', target: './x//y' }],
      ['send_message', { recipient: 'User', text: 'hi', sync: false }],
      ['send_message', { channelId: 'dm-root-user', text: 'hi' }],
      ['update_memory', { label: 'Plan', content: '' }],
      ['spawn_agent', { name: 'Tom', instructions: 'x' }],
      ['spawn_agent', { name: 'ann', instructions: 'x' }],
    ];
    world.behave('root', async (turn) => {
      const [made, ...rest] = calls;
      await turn.call(...(made as [string, object]));
      world.setPolicies([
        policy({ tool: 'create_workspace', arguments: { view_of: 'lab', subdir: 'a' } }),
        policy({ tool: 'create_workspace', arguments: { name: 'VIEW' } }),
        policy({ tool: 'delete_workspace', arguments: { name: 'LAB' } }),
        policy({ tool: 'link_dir', arguments: { workspace: 'lab', source: '/srv/a', target: 'x/*' } }),
        policy({ arguments: { recipient: 'USER' } }),
        policy({ tool: 'update_memory', arguments: { label: 'plan' } }),
        policy({ tool: 'spawn_agent', arguments: { name: 'tom' } }),
        policy({ tool: 'spawn_agent', arguments: { provider: 'test', model: 'dear' } }),
      ]);
      for (const [tool, args] of rest) results.push(await turn.call(tool, args).then(JSON.stringify as never, String));
      return 'done';
    });
    await world.ask('root', 'go');
    await world.settle();
    expect(results).toEqual(Array(9).fill(expect.stringMatching(DENIED)));
  });

  test('that allows a path by a pattern does not allow one that leads out of it', async () => {
    const { play } = await createOffice([
      policy({ tool: 'link_dir' }),
      policy({ tool: 'link_dir', action: 'allow', arguments: { source: '/srv/a/*' } }),
    ]);
    const link = (source: string): [string, object] => ['link_dir', { workspace: 'w', source, target: 't' }];
    const [, out, within] = await play(['create_workspace', { name: 'w' }], link('/srv/a/../b'), link('/srv/a/b'));
    expect(out).toMatch(DENIED);
    expect(within).toMatch(/forbidden: You cannot link \/srv\/a\/b/);
  });

  test('that leads nowhere counts for whatever asks or denies, asks nobody, and is not allowed by its spelling', async () => {
    const { world, play, open } = await createOffice([policy({ action: 'ask', arguments: { recipient: 'boss' } })]);
    const nobody = /not_found: "bosz" is not your parent/;
    expect(await play(say({ recipient: 'bosz' }))).toEqual([expect.stringMatching(nobody)]);
    world.setPolicies([policy({}), policy({ action: 'allow', arguments: { recipient: 'bosz' } })]);
    expect(await play(say({ recipient: 'bosz' }), say({ channelId: 'dm-x-nobody' }))).toEqual([
      expect.stringMatching(nobody),
      expect.stringMatching(/not_found: Channel "dm-x-nobody"/),
    ]);
    expect(await open()).toEqual([]);
  });

  test('asks with the arguments as written, once for all spellings, and its approval or rejection holds for all', async () => {
    const { world, play, open } = await createOffice([
      policy({ action: 'ask', arguments: { recipient: 'lead.boss' } }),
    ]);
    const held = /approval_required/;
    const to = (recipient: string) => say({ recipient, sync: false });
    expect(await play(to('Boss'), to('chief'))).toEqual(Array(2).fill(expect.stringMatching(held)));
    const [question, ...more] = await open();
    expect(more).toEqual([]);
    expect(question?.args).toMatchObject({ recipient: 'Boss' });
    const settle = async (decision: Parameters<typeof decide>[4], after: [string, object][]) => {
      const id = String((await open())[0]?.id);
      const results: string[] = [];
      world.behave('x', async (turn) => {
        for (const call of after) results.push(await turn.call(...call).then((one) => JSON.stringify(one), String));
        return 'done';
      });
      await world.store.write((tx) => decide(tx, world.rules, OWNER, id, decision, world.clock()));
      await world.settle();
      return results;
    };
    const approved = await settle({ kind: 'approve', text: null, revised: null }, [to('CHIEF'), to('Boss')]);
    expect(approved).toEqual([expect.stringContaining('sent'), expect.stringMatching(held)]);
    const rejected = await settle({ kind: 'reject', text: null }, [to('chief'), to('BOSS')]);
    expect(rejected).toEqual(Array(2).fill(expect.stringMatching(/A person rejected this call of send_message/)));
    expect(await open()).toEqual([]);
  });

  test('grants what a person wrote instead, in every spelling', async () => {
    const { world, play, open } = await createOffice([policy({ action: 'ask' })]);
    await play(say({ recipient: 'kid', sync: false }));
    const [question] = await open();
    const settings = { customTools: async () => [], defaultProvider: null };
    const args = { recipient: 'BOSS', text: 'hi', sync: false };
    const agentId = String(question?.agentId);
    const revised = await readArguments(settings, world.store, agentId, 'send_message', args);
    expect(revised.args).toEqual(args);
    world.behave('x', () => 'later');
    await world.store.write((tx) =>
      decide(tx, world.rules, OWNER, String(question?.id), { kind: 'approve', text: null, revised }, world.clock()),
    );
    await world.settle();
    expect(await play(say({ recipient: 'chief', sync: false }))).toEqual([expect.stringContaining('sent')]);
  });
});

test('every argument that names something is resolved for policies', () => {
  const NAMING =
    /^(recipient|channelId|sender|agent_name|name|workspace|view_of|source|target|subdir|workspace_subdir|label|persona|provider|id)$/;
  const naming = ALL.flatMap((name) => findTool(name) ?? []).filter(({ input }) =>
    Object.keys(input.shape).some((key) => NAMING.test(key)),
  );
  expect(naming.length).toBeGreaterThan(15);
  expect(naming.filter(({ refers }) => !refers).map(({ name }) => name)).toEqual([]);
});
