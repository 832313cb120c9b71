import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/client/client.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';

/** People type the last characters of an id; what they may not see is not found by them either. */
let directory: string;
let daemon: Awaited<ReturnType<typeof startDaemonProcess>>;
let anna: Client;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'short-'));
  daemon = await startDaemonProcess({ home: join(directory, 'home') });
  const { client } = daemon;
  for (const name of ['lead', 'other']) await client.createAgent({ name, provider: 'external' });
  const { token } = await client.createToken({ as: 'anna' });
  const { url } = await client.getStatus();
  anna = createClient({ url: url ?? '', token });
});

afterAll(async () => {
  await daemon.stop();
  rmSync(directory, { recursive: true });
});

const end = (id: string, length = 8) => id.slice(-length);

describe('the end of an id', () => {
  test('names an agent, its messages, passages, threads and tokens', async () => {
    const { client } = daemon;
    const { id } = await client.getAgent('lead');
    expect(await client.getAgent(end(id, 6))).toMatchObject({ id });
    const { messageId } = await client.sendMessage(end(id), { text: 'first' });
    expect(await client.getMessage(end(messageId).toUpperCase())).toMatchObject({ messageId });
    expect(await client.listReplies(end(messageId))).toMatchObject({ state: 'open' });
    await client.createChannel({ id: 'general' });
    const posted = await client.postMessage('general', { text: 'a thread' });
    await client.postMessage('general', { text: 'inside', parentMessageId: end(posted.messageId) });
    const thread = await client.listChannelMessages('general', { thread: end(posted.messageId) });
    expect(thread.items.map(({ text }) => text)).toContain('inside');
    expect(await client.react(end(posted.messageId), '👍')).toMatchObject({ reactions: [{ emoji: '👍' }] });
    expect(await client.editMessage(end(posted.messageId), 'edited')).toMatchObject({ text: 'edited' });
    const { passageId } = await client.storePassage('lead', { content: 'a note', tags: [] });
    expect(await client.deletePassage('lead', end(passageId))).toMatchObject({ id: passageId });
    const made = await client.createToken({ as: 'bob' });
    expect(await client.revokeToken(end(made.id))).toMatchObject({ id: made.id });
  });

  test('finds no message that the caller cannot see', async () => {
    const { client } = daemon;
    await client.createChannel({ id: 'secret', kind: 'private' });
    const { messageId } = await client.postMessage('secret', { text: 'hidden' });
    await expect(client.getMessage(end(messageId))).resolves.toMatchObject({ text: 'hidden' });
    await expect(anna.getMessage(end(messageId))).rejects.toMatchObject({ code: 'not_found' });
  });

  test('needs 6 characters, and must be unique', async () => {
    const { client } = daemon;
    const { id } = await client.getAgent('lead');
    await expect(client.getAgent(end(id, 5))).rejects.toMatchObject({ code: 'not_found' });
    await expect(client.getRun('abcdef')).rejects.toThrow('There is no run abcdef.');
  });
});

describe('a reference to an agent', () => {
  test("an agent's handle wins over a child with that name, and the living over the dead", async () => {
    const { client } = daemon;
    const first = await client.createAgent({ name: 'counter', provider: 'external' });
    const child = await client.createAgent({ name: 'counter', provider: 'external', parent: 'lead' });
    expect(child.handle).toBe('lead.counter');
    expect(await client.getAgent('counter')).toMatchObject({ id: first.id });
    await client.terminateAgent('counter');
    expect(await client.getAgent('counter')).toMatchObject({ id: child.id });
    const another = await client.createAgent({ name: 'counter', provider: 'external', parent: 'other' });
    await expect(client.getAgent('counter')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`lead.counter (${child.id}), ${another.handle} (${another.id})`),
    });
    await client.terminateAgent('lead.counter');
    await client.terminateAgent(another.id);
    expect(await client.getAgent('counter')).toMatchObject({ id: first.id, state: 'terminated' });
  });
});

describe('open requests', () => {
  test('say who waits for whom, and only to the owner', async () => {
    const { items } = await daemon.client.listRequests();
    expect(items).toMatchObject([{ from: 'user', to: 'lead', createdAt: expect.any(String) }]);
    await expect(anna.listRequests()).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('the last events', () => {
  test('come first when a reader asks for them by a negative number', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { type } of daemon.client.followEvents({ after: -9999, signal: stop.signal })) {
      seen.push(type);
      if (seen.length === 3) break;
    }
    stop.abort();
    expect(seen).toEqual(['node_started', 'agent_created', 'agent_created']);
  });
});
