import { expect, test } from 'vitest';
import { agentStatus } from '../../src/core/status.ts';
import { createWorld } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

/** The status in the events of a type. */
async function told({ store }: World, type: string) {
  const events = await store.read((tx) => tx.events.listEvents({ after: 0, limit: 1000 }));
  return events
    .filter((event) => event.type === type)
    .map(({ at, data }) => ({ at, status: (data as { status?: unknown }).status }));
}

const iso = (at: number) => new Date(at).toISOString();

test('a failed attempt parks its agent, then the agent is queued', async () => {
  const world = await createWorld();
  await world.create('a');
  world.behave('a', ({ attempt }) => (attempt === 1 ? { failure: 'crash', message: 'it broke' } : 'done'));
  await world.ask('a', 'go');
  await world.settle();
  const [event] = await told(world, 'run_retried');
  const { at } = event as { at: number };
  expect(event?.status).toEqual({ kind: 'parked', reason: 'it broke', since: iso(at), until: iso(at + 500) });
  const parked = await world.view('a');
  expect(agentStatus(parked, at)).toEqual({ kind: 'parked', reason: 'it broke', since: at, until: at + 500 });
  expect(agentStatus(parked, at + 500)).toEqual({ kind: 'queued', reason: 'it broke', since: at + 500, until: null });
  await world.pass(500);
  await world.settle();
  expect(agentStatus(await world.view('a'), at + 500)).toBeNull();
});

test("a provider's refusal makes its agent rest", async () => {
  const world = await createWorld();
  await world.create('a');
  world.behave('a', () => ({ failure: 'rate_limit', message: 'slowly', retryAfterMs: 60_000 }));
  await world.ask('a', 'go');
  await world.settle();
  const [event] = await told(world, 'run_retried');
  const { at } = event as { at: number };
  expect(event?.status).toEqual({ kind: 'resting', reason: 'slowly', since: iso(at), until: iso(at + 60_000) });
  const status = { kind: 'resting', reason: 'slowly', since: at, until: at + 60_000 };
  expect(agentStatus(await world.view('a'), at)).toEqual(status);
});

test('a paused agent is shown as paused until it is resumed, and then as queued', async () => {
  const world = await createWorld();
  const { id } = await world.create('a');
  world.behave('a', () => 'done');
  const at = 5000;
  await world.store.write((tx) => tx.agents.setPaused({ id, at, reason: 'why' }));
  await world.ask('a', 'go');
  await world.settle();
  expect(agentStatus(await world.view('a'), at)).toEqual({ kind: 'paused', reason: 'why', since: at, until: null });
  await world.resume('a');
  const [event] = await told(world, 'agent_resumed');
  const since = iso(event?.at ?? 0);
  expect(event?.status).toEqual({ kind: 'queued', reason: null, since, until: null });
  await world.settle();
  expect(agentStatus(await world.view('a'), at)).toBeNull();
});
