import { describe, expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

describe('names', () => {
  test('are unique within one hop, case-insensitively, and the error names the owner', async () => {
    const world = await createWorld();
    const lead = await world.create('Lead');
    const child = await world.create('Child', lead);
    await expect(world.create('cHILD', lead)).rejects.toThrow(
      `The name "cHILD" is already used by the agent ${child.id}`,
    );
    await expect(world.create('LEAD', lead)).rejects.toThrow(lead.id);
    // A grandchild may not have its grandparent's name: its parent would see two agents with that name.
    await expect(world.create('lead', child)).rejects.toThrow(lead.id);
    await expect(world.create('lead')).rejects.toThrow(lead.id);
  });

  test('may repeat farther away; then the handle is longer', async () => {
    const world = await createWorld();
    const a = await world.create('a');
    const b = await world.create('b');
    expect((await world.create('worker', a)).handle).toBe('worker');
    expect((await world.create('worker', b)).handle).toBe('b.worker');
  });

  test.each(['', '-x', '_x', 'a b', 'a/b', 'a.b', 'ü', '🙂', 'x'.repeat(65), 'User', 'SYSTEM', 'substrat', 'a\n'])(
    'refuses %j',
    async (name) => {
      const world = await createWorld();
      await expect(world.create(name)).rejects.toMatchObject({ code: 'bad_request' });
    },
  );
});

describe('routing', () => {
  test('reaches parent, children and siblings, and for a root the owner; nobody else', async () => {
    const world = await createWorld();
    const root = await world.create('root');
    const left = await world.create('left', root);
    await world.create('right', root);
    await world.create('leaf', left);
    const tried: Record<string, string> = {};
    world.behave('left', async (turn) => {
      for (const recipient of ['root', 'right', 'leaf', 'LEAF', 'left', 'USER', 'nobody']) {
        tried[recipient] = await turn.call('send_message', { recipient, text: 'x', sync: false }).then(
          (sent) => String(sent.status),
          (error: Error) => error.message.split(':')[0] as string,
        );
      }
      return 'ok';
    });
    world.behave('leaf', async (turn) => {
      await expect(turn.call('send_message', { recipient: 'root', text: 'x' })).rejects.toThrow(
        /You can reach: left\./,
      );
      return 'ok';
    });
    await world.ask('left', 'go');
    await world.settle();
    expect(tried).toEqual({
      root: 'sent',
      right: 'sent',
      leaf: 'sent',
      LEAF: 'sent',
      left: 'not_found',
      USER: 'forbidden',
      nobody: 'not_found',
    });
  });

  test('roots are not siblings', async () => {
    const world = await createWorld();
    await world.create('one');
    await world.create('two');
    world.behave('one', async (turn) => {
      await expect(turn.call('send_message', { recipient: 'two', text: 'x' })).rejects.toThrow(/not_found/);
      return 'ok';
    });
    const id = await world.ask('one', 'go');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'ok' });
  });
});

describe('spawn_agent', () => {
  test('creates a child that inherits, and whose messages wait until the attempt ends', async () => {
    const world = await createWorld({ slots: 4 });
    await world.create('lead', null, { tools: ['spawn_agent', 'send_message'] });
    const order: string[] = [];
    world.behave('child', (turn) => {
      order.push('child runs');
      return `to ${turn.messages[0]?.from}`;
    });
    world.behave('lead', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return `child said: ${turn.messages[0]?.text}`;
      const child = await turn.call('spawn_agent', { name: 'child', instructions: 'be there' });
      expect(child).toEqual({ status: 'created', agent_id: expect.any(String), name: 'child' });
      await turn.call('send_message', { recipient: 'child', text: 'hello' });
      await world.tick();
      order.push('lead ends');
      return 'waiting';
    });
    const id = await world.ask('lead', 'go');
    await world.settle();
    expect(order).toEqual(['lead ends', 'child runs']);
    expect(await world.reply(id)).toMatchObject({ text: 'child said: to lead' });
    const child = await world.agentNamed('child');
    expect(child).toMatchObject({
      provider: 'test',
      workspace: '/tmp',
      tools: ['spawn_agent', 'send_message'],
      role: 'worker',
    });
  });

  test('starts no run before a message arrives', async () => {
    const world = await createWorld();
    await world.create('lead');
    world.behave('lead', async (turn) => {
      await turn.call('spawn_agent', { name: 'quiet', instructions: 'x', role: 'reviewer' });
      return 'ok';
    });
    await world.ask('lead', 'go');
    await world.settle();
    const quiet = await world.agentNamed('quiet');
    expect(quiet).toMatchObject({ role: 'reviewer', ready: true });
    expect(await world.store.read((tx) => tx.runs.getLiveRun({ agentId: quiet.id }))).toBeNull();
  });

  test('also makes the child ready when the attempt that spawned it fails', async () => {
    const world = await createWorld();
    await world.create('lead');
    world.behave('child', () => 'here');
    world.behave('lead', async (turn) => {
      const spawned = await turn.call('spawn_agent', { name: 'child', instructions: 'x' });
      if (turn.attempt === 1) return { failure: 'crash' };
      return `child ${spawned.repeated ? 'was there' : 'is new'}`;
    });
    const id = await world.ask('lead', 'go');
    await world.settle();
    expect((await world.agentNamed('child')).ready).toBe(true);
    await world.pass(1000);
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'child was there' });
  });

  test('names the owner of a taken name', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const child = await world.create('child', lead);
    world.behave('lead', async (turn) => {
      await expect(turn.call('spawn_agent', { name: 'child', instructions: 'x' })).rejects.toThrow(
        new RegExp(`name_taken: .*${child.id}`),
      );
      return 'ok';
    });
    const id = await world.ask('lead', 'go');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'ok' });
  });

  test.each([
    [{ maxChildren: 1 }, /max_children = 1/],
    [{ maxDepth: 1 }, /max_depth = 1/],
    [{ maxAgents: 2 }, /max_agents = 2/],
  ])('stops at the cap %j', async (caps, message) => {
    const world = await createWorld(caps);
    const lead = await world.create('lead');
    const child = await world.create('child', lead);
    const parent = 'maxDepth' in caps ? child : lead;
    await expect(world.create('extra', parent)).rejects.toThrow(message);
  });
});
