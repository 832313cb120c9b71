import { describe, expect, test } from 'vitest';
import type { Tx } from '../../src/store/store.ts';
import { until } from '../helpers/until.ts';
import { createWorld } from '../helpers/world.ts';

describe('cancel', () => {
  test('is final: the deliveries die and the request gets an error', async () => {
    const world = await createWorld();
    await world.create('x');
    let runId = '';
    world.behave('x', (turn) => {
      runId = turn.runId;
      return new Promise(() => {});
    });
    const id = await world.ask('x', 'go');
    while ((await world.view('x')).running === 0) await world.tick();
    await until('the turn began', () => runId !== '');
    await world.cancel(runId);
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ kind: 'error', text: 'A person cancelled the run.', count: 1 });
    expect(await world.view('x')).toMatchObject({ running: 0, pending: 0 });
    await expect(world.cancel(runId)).rejects.toThrow(/cancelled already/);
  });

  test('of a run that has not started includes what it would have carried', async () => {
    const world = await createWorld({ slots: 1 });
    await world.create('blocker');
    const x = await world.create('x');
    let turns = 0;
    world.behave('x', () => {
      turns += 1;
      return 'never';
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    world.behave('blocker', () => promise);
    await world.ask('blocker', 'go');
    await world.tick();
    const id = await world.ask('x', 'go');
    const run = await world.store.read((tx) => tx.runs.getLiveRun({ agentId: x.id }));
    await world.cancel(run?.id ?? '');
    resolve('done');
    await world.settle();
    expect(turns).toBe(0);
    expect(await world.reply(id)).toMatchObject({ kind: 'error' });
  });

  test("the agent's next run does not start before the cancelled one's process is gone", async () => {
    const world = await createWorld({ slots: 4 });
    const x = await world.create('x');
    const log: string[] = [];
    world.behave('x', async (turn) => {
      log.push(`start ${turn.messages[0]?.text}`);
      if (turn.messages[0]?.text === 'second') return 'ok';
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
      log.push('end first');
      return 'x';
    });
    await world.ask('x', 'first');
    while ((await world.view('x')).running === 0) await world.tick();
    await world.ask('x', 'second');
    const run = await world.store.read((tx) => tx.runs.getLiveRun({ agentId: x.id }));
    await world.cancel(run?.id ?? '');
    await world.settle();
    expect(log).toEqual(['start first', 'end first', 'start second']);
  });
});

describe('termination', () => {
  test('ends the subtree: runs fenced, deliveries dead, requests to it answered, requests from it closed', async () => {
    const world = await createWorld({ slots: 4 });
    const lead = await world.create('lead');
    const boss = await world.create('boss', lead);
    await world.create('minion', boss);
    await world.create('peer', lead);
    const heard: string[] = [];
    let minionCall: Promise<unknown> = Promise.resolve();
    const { promise: hold, resolve } = Promise.withResolvers<void>();
    world.behave('lead', async (turn) => {
      heard.push(...turn.messages.map((message) => `${message.kind}: ${message.text}`));
      if (turn.messages[0]?.kind === 'request') await turn.call('send_message', { recipient: 'boss', text: 'q' });
      return 'ok';
    });
    world.behave('boss', async (turn) => {
      await turn.call('send_message', { recipient: 'minion', text: 'q' });
      await turn.call('send_message', { recipient: 'peer', text: 'q' });
      return 'waiting';
    });
    let peerTurns = 0;
    world.behave('peer', async () => {
      peerTurns += 1;
      await hold;
      return 'too late';
    });
    world.behave('minion', async (turn) => {
      minionCall = hold.then(() => turn.callRaw('send_message', { recipient: 'boss', text: 'hi' }));
      await minionCall;
      return 'x';
    });
    const id = await world.ask('lead', 'go');
    while ((await world.view('minion')).running === 0 || (await world.view('peer')).running === 0) await world.tick();
    await world.terminate('boss');
    resolve();
    expect(await minionCall).toMatchObject({ result: { error: { code: 'fenced' } } });
    await world.settle();
    expect(heard).toEqual(['request: go', 'error: boss was terminated before it answered.']);
    expect(await world.reply(id)).toMatchObject({ text: 'ok', count: 1 });
    expect(peerTurns).toBe(1);
    expect(await world.view('peer')).toMatchObject({ running: 0, asking: 0, pending: 0 });
    await expect(world.agentNamed('minion')).rejects.toThrow();
  });

  test('closes its requests immediately: an agent that has not read one is not woken by it', async () => {
    const world = await createWorld({ slots: 4 });
    const lead = await world.create('lead');
    const boss = await world.create('boss', lead);
    const peer = await world.create('peer', lead);
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    const heard: string[] = [];
    world.behave('peer', (turn) => {
      heard.push(...turn.messages.map((message) => message.text));
      return hold;
    });
    world.behave('boss', async (turn) => {
      await turn.call('send_message', { recipient: 'peer', text: 'a question', sync: true });
      return 'waiting';
    });
    await world.ask('peer', 'work');
    await world.ask('boss', 'go');
    const open = (tx: Tx) => tx.requests.listOpenRequestsFrom({ askerId: boss.id });
    const asked = async () => (await world.store.read(open)).length > 0 && (await world.view('boss')).running === 0;
    while (!(await asked()) || (await world.view('peer')).running === 0) await world.tick();
    await world.terminate('boss');
    expect(await world.store.read(open)).toEqual([]);
    expect(await world.store.read((tx) => tx.deliveries.listPending({ agentId: peer.id, limit: 9 }))).toEqual([]);
    resolve('done');
    await world.settle();
    expect(heard).toEqual(['work']);
  });

  test('frees the name, but never the handle', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    const first = await world.create('worker', lead);
    await world.terminate('worker');
    const second = await world.create('worker', lead);
    expect([first.handle, second.handle]).toEqual(['worker', 'lead.worker']);
    await world.terminate('worker');
    expect((await world.create('worker', lead)).handle).toBe('lead.worker.2');
  });
});

describe('complete()', () => {
  test("answers the parent's request and ends the agent after its turn", async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('temp', lead);
    let result: unknown;
    world.behave('temp', async (turn) => {
      result = await turn.call('complete', { result: 'all done' });
      expect((await world.view('temp')).terminatedAt).toBeNull();
      return 'ignored';
    });
    world.behave('lead', async (turn) => {
      if (turn.messages[0]?.kind !== 'request') return `temp: ${turn.messages[0]?.text}`;
      await turn.call('send_message', { recipient: 'temp', text: 'do' });
      return 'waiting';
    });
    const id = await world.ask('lead', 'go');
    await world.settle();
    const answered = expect.any(String);
    expect(result).toEqual({ status: 'completing', message_id: expect.any(String), answered });
    expect(await world.reply(id)).toMatchObject({ text: 'temp: all done', count: 1 });
    await expect(world.agentNamed('temp')).rejects.toThrow();
  });

  test('sends the result to a parent that asked nothing', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('temp', lead);
    const heard: string[] = [];
    world.behave('lead', (turn) => {
      heard.push(...turn.messages.map((message) => `${message.kind}: ${message.text}`));
      return '';
    });
    world.behave('temp', async (turn) => {
      await turn.call('complete', { result: 'found it' });
      return 'for USER';
    });
    const id = await world.ask('temp', 'search');
    await world.settle();
    expect(heard).toEqual(['news: found it']);
    expect(await world.reply(id)).toMatchObject({ text: 'for USER' });
  });

  test('is refused for an agent with children', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('child', lead);
    world.behave('lead', async (turn) => {
      await expect(turn.call('complete', { result: 'x' })).rejects.toThrow(/has_children/);
      return 'still here';
    });
    const id = await world.ask('lead', 'go');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'still here' });
  });

  test('survives a crash of the turn that called it', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('temp', lead);
    world.behave('temp', async (turn) => {
      const done = await turn.call('complete', { result: 'r' });
      return turn.attempt === 1 ? { failure: 'crash' } : String(done.repeated);
    });
    await world.ask('temp', 'go');
    await world.settle();
    expect((await world.view('temp')).terminatedAt).toBeNull();
    await world.pass(10_000);
    await world.settle();
    await expect(world.agentNamed('temp')).rejects.toThrow();
  });
});
