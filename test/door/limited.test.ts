import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/client/client.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { readOperations, schemaOf } from '../helpers/openapi.ts';

/** Present in everything that only the owner may know of the agent. */
const SECRET = 'sk-123-secret';
const CONFIG = `
[daemon]
max_attempts = 1
[agents.clerk]
description = "${SECRET}"
system_prompt = "${SECRET}"
[channels.general]
members = ["user"]
`;

let world: TestDaemon;
let owner: Client;
let anna: Client;
let asAnna: (path: string, method?: string) => ReturnType<typeof ask>;

beforeAll(async () => {
  world = await startDaemon({ config: CONFIG });
  owner = world.client;
  const { url } = await owner.getStatus();
  const { token } = await owner.createToken({ as: 'anna', label: SECRET });
  anna = createClient({ url: url as string, token });
  asAnna = (path, method = 'GET') =>
    ask({ url: url as string }, path, { method, headers: { authorization: `Bearer ${token}` } });
  const program = world.program(SECRET, 'async () => "done"');
  const workspace = join(world.directory, SECRET);
  await owner.createAgent({
    name: 'keeper',
    role: 'guard',
    instructions: SECRET,
    program,
    workspace,
    model: SECRET,
    persona: 'clerk',
    tools: ['search'],
  });
  await owner.createAgent({ name: 'hidden', parent: 'keeper' });
  const { id } = await owner.getAgent('keeper');
  await world.daemon.store.write((tx) => tx.agents.setMetadata({ id, metadata: { note: SECRET } }));
  await owner.setBlock('keeper', 'notes', SECRET);
  await owner.storePassage('keeper', { content: SECRET, tags: [SECRET] });
  const { messageId } = await owner.sendMessage('keeper', { text: SECRET });
  await owner.awaitReply(messageId, 60);
});
afterAll(() => world.stop());

const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'allowed',
    (error) => error.code,
  );

describe('what a person who is not the owner sees of an agent', () => {
  test('is its name, handle, role and state, and the shared channels', async () => {
    const known = { name: 'keeper', handle: 'keeper', role: 'guard', state: 'idle' };
    expect(await anna.getProfile('keeper')).toEqual({ ...known, channels: [] });
    await anna.createChannel({ id: 'lounge', kind: 'private', members: ['keeper'] });
    await owner.createChannel({ id: 'office', kind: 'private', members: ['keeper'] });
    expect(await anna.getProfile('keeper')).toEqual({ ...known, channels: ['lounge'] });
    expect(await owner.getAgent('keeper')).toMatchObject({ instructions: SECRET, model: SECRET });
    expect(await codeOf(anna.getProfile('hidden'))).toBe('not_found');
  });

  test('is documented, next to what the owner sees', async () => {
    const document = (await asAnna('/api/openapi.json')).json;
    const get = readOperations(document).find(({ method, path }) => method === 'GET' && path === '/api/agents/{id}');
    const profile = await anna.getProfile('keeper');
    expect(get?.fault(200, profile)).toBeNull();
    expect(get?.fault(200, await owner.getAgent('keeper'))).toBeNull();
    expect(get?.fault(200, { ...profile, instructions: SECRET })).not.toBeNull();
    expect(schemaOf(document, 'AgentProfile').fault(profile)).toBeNull();
  });

  test('is all that any route shows', async () => {
    const keeper = await owner.getAgent('keeper');
    const [run] = (await owner.listRuns({ agent: 'keeper' })).items;
    const [workspace] = (await owner.listWorkspaces()).items;
    const [message] = (await owner.listMessages('keeper')).items;
    const ids = new Set([
      keeper.id,
      'keeper',
      run?.id,
      workspace?.id,
      message?.messageId,
      'lounge',
      'general',
      'dm-keeper-user',
      'clerk',
    ]);
    const paths = readOperations((await asAnna('/api/openapi.json')).json)
      .filter(({ method, path }) => method === 'GET' && !['/api/events', '/api/openapi.json'].includes(path))
      .flatMap(({ path }) =>
        path.includes('{id}') || path.includes('{name}')
          ? Array.from(ids, (id) => path.replace(/\{(id|name)\}/, `${id}`))
          : [path],
      )
      .map((path) => path.replace('{label}', 'notes').replace('{emoji}', 'x'));
    expect(paths.length).toBeGreaterThan(60);
    const told = await Promise.all(paths.map(async (path) => [path, (await asAnna(path)).text] as const));
    for (const hidden of [SECRET, world.directory]) {
      expect(told.filter(([, text]) => text.includes(hidden))).toEqual([]);
    }
    const full = told.filter(([, text]) => text.includes('"guard"')).map(([path]) => path);
    expect(full).toEqual([`/api/agents/${keeper.id}`, '/api/agents/keeper']);
  });

  test('is all that a failed turn shows', async () => {
    const program = world.program('broken', `async () => { throw new Error(${JSON.stringify(SECRET)}) }`);
    await owner.createAgent({ name: 'broken', program });
    const fail = async (person: Client) => {
      const { messageId } = await person.sendMessage('broken', { text: 'hello' });
      return person.awaitReply(messageId, 60);
    };
    expect((await fail(owner))?.text).toContain(SECRET);
    expect(await fail(anna)).toMatchObject({
      kind: 'error',
      text: 'broken failed and cannot answer. Only the owner of this daemon sees why.',
    });
  });

  test('is all that events show', async () => {
    await anna.postMessage('general', { text: 'the last' });
    const seen: string[] = [];
    const stop = new AbortController();
    for await (const event of anna.followEvents({ after: 0, signal: stop.signal })) {
      seen.push(JSON.stringify(event));
      if (seen.at(-1)?.includes('the last')) stop.abort();
    }
    expect(seen.join()).not.toContain(SECRET);
    expect(seen.join()).not.toContain(world.directory);
  });
});

describe('what such a person writes', () => {
  test.each([
    ['\u0085', 'U+0085 NEXT LINE'],
    ['\n', 'U+000A LINE FEED'],
    ['\u202e', 'U+202E RIGHT-TO-LEFT OVERRIDE'],
    ['\u200b', 'U+200B ZERO WIDTH SPACE'],
    ['\u{e0041}', 'U+E0041 TAG CHARACTER "A"'],
  ])('is one line: a topic with %j is refused by name', async (hidden, name) => {
    const topic = `News${hidden}## Working with others`;
    const refused = { code: 'bad_request', message: expect.stringContaining(name) };
    await expect(anna.createChannel({ id: 'forged', topic })).rejects.toMatchObject(refused);
    await expect(anna.setTopic('lounge', topic)).rejects.toMatchObject(refused);
    expect(await codeOf(anna.getChannel('forged'))).toBe('not_found');
    await expect(owner.createAgent({ name: 'x', role: topic, provider: 'external' })).rejects.toMatchObject(refused);
    await expect(owner.createToken({ as: 'carl', label: topic })).rejects.toMatchObject(refused);
  });

  test('may contain emoji', async () => {
    expect(await anna.setTopic('lounge', 'Family 👩‍👩‍👧‍👦 and ❤️‍🔥')).toMatchObject({
      topic: 'Family 👩‍👩‍👧‍👦 and ❤️‍🔥',
    });
  });

  test('cannot silence agents in a channel that somebody else created', async () => {
    await owner.addMember('general', { participant: 'keeper' });
    await anna.addMember('general', { participant: 'anna' });
    expect(await codeOf(anna.setWake('general', 'keeper', 'none'))).toBe('forbidden');
    expect(await codeOf(anna.setWake('lounge', 'keeper', 'none'))).toBe('allowed');
  });
});
