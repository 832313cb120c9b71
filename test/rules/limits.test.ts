import { expect, test } from 'vitest';
import { createWorld, type Failing } from '../helpers/world.ts';

const HOUR = 3_600_000;
const spent = (more: Partial<Failing> = {}): Failing => ({
  failure: 'rate_limit',
  message: 'The weekly limit is reached.',
  retryAfterMs: 5 * HOUR,
  ...more,
});

type World = Awaited<ReturnType<typeof createWorld>>;
const notices = async (world: World, name: string) =>
  (await world.said(`dm-${name}-user`)).filter((line) => line.startsWith('system: '));
const at = (world: World, ms: number) => new Date(world.clock() + ms).toISOString();

test('an exhausted limit parks the agent; the person is told once, with the time; it goes on by itself', async () => {
  const world = await createWorld();
  await world.create('lead');
  let limited = true;
  world.behave('lead', ({ attempt }) => (limited ? spent() : `attempt ${attempt}`));
  const until = at(world, 5 * HOUR);
  const id = await world.ask('lead', 'Go.');
  await world.settle();
  expect((await world.view('lead')).restUntil).toBe(world.clock() + 5 * HOUR);
  expect(await notices(world, 'lead')).toEqual([expect.stringContaining(`waits until ${until}`)]);
  await world.pass(5 * HOUR);
  await world.settle();
  // Still limited: it waits again, without another word.
  expect(await notices(world, 'lead')).toHaveLength(1);
  limited = false;
  await world.pass(5 * HOUR);
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ text: 'attempt 3' });
  expect(await world.view('lead')).toMatchObject({ rests: 0, restTold: false });
});

test('a rate limit that passes is tried again soon, and only told if it comes back', async () => {
  const world = await createWorld();
  await world.create('lead', null, { fallback: ['codex'] });
  const seats: string[] = [];
  world.behave('lead', ({ seat, attempt }) => {
    seats.push(seat);
    return attempt <= 2 ? { failure: 'rate_limit', message: 'Too many requests.', retryAfterMs: 20_000 } : 'done';
  });
  const id = await world.ask('lead', 'Go.');
  await world.settle();
  expect(await notices(world, 'lead')).toEqual([]);
  await world.pass(20_000);
  await world.settle();
  expect(await notices(world, 'lead')).toHaveLength(1);
  await world.pass(20_000);
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ text: 'done' });
  expect(seats).toEqual(['test', 'test', 'test']);
});

test('a fallback takes over with the conversation, is named, and hands back between requests', async () => {
  const world = await createWorld();
  await world.create('lead', null, { fallback: ['codex:gpt-9'] });
  await world.create('worker', await world.agentNamed('lead'));
  const turns: { seat: string; session: string | null; prompt: string }[] = [];
  let limited = false;
  world.behave('lead', async ({ seat, session, prompt, messages, call, tell }) => {
    turns.push({ seat, session, prompt });
    if (seat === 'test' && limited) return spent();
    await tell({ type: 'session', session: `session of ${seat}` });
    if (messages.some(({ text }) => text === 'Delegate.')) {
      await call('send_message', { recipient: 'worker', text: 'Work.' });
      return 'asked';
    }
    return `${seat} says ${messages.at(-1)?.text}`;
  });
  let release = () => {};
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  world.behave('worker', async () => {
    await slow;
    return 'worked';
  });
  const first = await world.ask('lead', 'Remember blue.');
  await world.settle();
  expect(await world.reply(first)).toMatchObject({ text: 'test says Remember blue.' });
  limited = true;
  const until = at(world, 5 * HOUR);
  const delegated = await world.ask('lead', 'Delegate.');
  await world.tick();
  await expect.poll(() => turns.length).toBe(3);
  expect(turns.map(({ seat }) => seat)).toEqual(['test', 'test', 'codex']);
  // The other provider knows what was said, and has no session of the first one.
  expect(turns[2]).toMatchObject({ session: null, prompt: expect.stringContaining('Remember blue.') });
  await expect
    .poll(() => notices(world, 'lead'))
    .toEqual([
      expect.stringMatching(new RegExp(`codex \\(OpenAI\\) takes over for lead.*until ${until}.*weekly limit`)),
    ]);
  expect(await world.view('lead')).toMatchObject({ provider: 'test', actingProvider: 'codex', actingModel: 'gpt-9' });
  // The limit has ended, but the request has not.
  limited = false;
  await world.pass(6 * HOUR);
  release();
  await world.settle();
  expect(await world.reply(delegated)).toMatchObject({ text: 'codex says worked' });
  expect(turns.at(-1)).toMatchObject({ seat: 'codex', session: 'session of codex' });
  const next = await world.ask('lead', 'And now?');
  await world.settle();
  expect(await world.reply(next)).toMatchObject({ text: 'test says And now?' });
  // It resumes its own session and is told what the other one did.
  expect(turns.at(-1)).toMatchObject({
    session: 'session of test',
    prompt: expect.stringContaining('codex says worked'),
  });
  expect((await notices(world, 'lead')).at(-1)).toMatch(/lead works with test again/);
  expect(await world.view('lead')).toMatchObject({ actingProvider: null, actingModel: null });
});

test('if every provider is limited, the agent waits for the first one', async () => {
  const world = await createWorld();
  await world.create('lead', null, { fallback: ['codex', 'llm:ollama/qwen3'] });
  const waits: Record<string, number> = { test: 5 * HOUR, codex: 2 * HOUR, llm: 3 * HOUR };
  let limited = true;
  const seats: string[] = [];
  world.behave('lead', ({ seat }) => {
    seats.push(seat);
    return limited ? spent({ retryAfterMs: waits[seat] ?? 0 }) : `${seat} answers`;
  });
  const id = await world.ask('lead', 'Go.');
  await world.settle();
  expect(seats).toEqual(['test', 'codex', 'llm']);
  expect((await world.view('lead')).restUntil).toBe(world.clock() + 2 * HOUR);
  limited = false;
  await world.pass(2 * HOUR);
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ text: 'codex answers' });
});

test('the first failure of a provider that took over does not count as an attempt', async () => {
  const world = await createWorld({ maxAttempts: 1 });
  await world.create('lead', null, { fallback: ['codex'] });
  let failures = 0;
  world.behave('lead', ({ seat }) => {
    if (seat === 'test') return spent();
    failures += 1;
    return failures === 1 ? { failure: 'crash' } : 'recovered';
  });
  const id = await world.ask('lead', 'Go.');
  await world.settle();
  await world.pass(60_000);
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ kind: 'reply', text: 'recovered' });
});

test('a limit that a program reports parks its agent only, until another tree reports it too', async () => {
  const world = await createWorld();
  for (const name of ['one', 'two', 'three']) await world.create(name);
  const turns: string[] = [];
  for (const [name, retryAfterMs] of [
    ['one', 5 * HOUR],
    ['two', 2 * HOUR],
    ['three', HOUR],
  ] as const) {
    world.behave(name, () => {
      turns.push(name);
      return turns.length <= 2 ? spent({ retryAfterMs }) : `${name} answers`;
    });
  }
  await world.ask('one', 'Go.');
  await world.settle();
  const two = await world.ask('two', 'Go.');
  await world.settle();
  expect(turns).toEqual(['one', 'two']);
  // Two trees agree: the account is limited, for the shorter time. The third agent does not even try.
  const three = await world.ask('three', 'Go.');
  await world.settle();
  expect(turns).toEqual(['one', 'two']);
  expect((await world.view('three')).restUntil).toBe(world.clock() + 2 * HOUR);
  await world.pass(2 * HOUR);
  await world.settle();
  expect(await world.reply(two)).toMatchObject({ text: 'two answers' });
  expect(await world.reply(three)).toMatchObject({ text: 'three answers' });
  expect((await world.view('one')).restUntil).toBeGreaterThan(world.clock());
});

test('a limit that the proxy saw holds for every agent of the account', async () => {
  const world = await createWorld();
  for (const name of ['one', 'two']) await world.create(name);
  const turns: string[] = [];
  for (const name of ['one', 'two']) {
    world.behave(name, () => {
      turns.push(name);
      return spent({ metered: true });
    });
  }
  await world.ask('one', 'Go.');
  await world.settle();
  await world.ask('two', 'Go.');
  await world.settle();
  expect(turns).toEqual(['one']);
  expect(await world.view('two')).toMatchObject({ restUntil: world.clock() + 5 * HOUR });
});

test('agents of one tree cannot mark an account as limited by their word', async () => {
  const world = await createWorld();
  const lead = await world.create('lead');
  await world.create('child', lead);
  const other = await world.create('other');
  for (const name of ['lead', 'child']) world.behave(name, () => spent());
  world.behave('other', () => 'fine');
  await world.ask('lead', 'Go.');
  await world.ask('child', 'Go.');
  await world.settle();
  const id = await world.ask('other', 'Go.');
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ text: 'fine' });
  const { nodeId } = other;
  const limits = await world.store.read((tx) => tx.limits.listLimits({ nodeId, now: world.clock() }));
  expect(limits.map(({ agentId, grade }) => [agentId === '', grade])).toEqual([
    [false, 'reported'],
    [false, 'reported'],
  ]);
});

test('accounts rotate between turns when one is limited, each with its own session', async () => {
  const world = await createWorld({ accounts: { test: ['home', 'work'] } });
  await world.create('lead');
  const seats: string[] = [];
  let limited = '';
  world.behave('lead', async ({ seat, session, tell }) => {
    seats.push(`${seat} ${session}`);
    if (seat === limited) return spent({ metered: true });
    await tell({ type: 'session', session: `of ${seat}` });
    return seat;
  });
  const ask = async () => {
    const id = await world.ask('lead', 'Go.');
    await world.settle();
    return (await world.reply(id)).text ?? '';
  };
  const first = await ask();
  expect(['test/home', 'test/work']).toContain(first);
  expect(await ask()).toBe(first);
  expect(await notices(world, 'lead')).toEqual([]);
  limited = first;
  const second = await ask();
  expect(second).toBe(first === 'test/home' ? 'test/work' : 'test/home');
  expect(seats).toEqual([`${first} null`, `${first} of ${first}`, `${first} of ${first}`, `${second} null`]);
  expect(await notices(world, 'lead')).toEqual([expect.stringMatching(/lead continues with test \(account \w+\)/)]);
  // An account is kept: its session has what was said.
  limited = '';
  await world.pass(6 * HOUR);
  expect(await ask()).toBe(second);
});
