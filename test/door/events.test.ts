import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createClient, type SubstratEvent } from '../../src/client/client.ts';
import { type DaemonSetup, startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;
afterEach(() => world.stop());

const open = async (setup: DaemonSetup = {}) => {
  world = await startDaemon({ members: { a: {}, b: {} }, ...setup });
};
const say = (ref: string, text: string) => world.client.sendMessage(ref, { text });

/** The first events of a stream. */
async function take(
  count: number,
  query: Parameters<TestDaemon['client']['followEvents']>[0],
): Promise<SubstratEvent[]> {
  const stop = new AbortController();
  const events: SubstratEvent[] = [];
  for await (const event of world.client.followEvents({ ...query, signal: stop.signal })) {
    events.push(event);
    if (events.length === count) break;
  }
  stop.abort();
  return events;
}

describe('the stream', () => {
  test('has every event once, numbered without gaps, from any position', async () => {
    await open();
    for (let n = 0; n < 20; n += 1) await say('a', `m${n}`);
    const all = await take(22, { after: 0 });
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => i + 1));
    const rest = await take(12, { after: 10 });
    expect(rest).toEqual(all.slice(10));
  });

  test('starts from now by default, and streams new events', async () => {
    await open();
    await say('a', 'before');
    const next = take(1, {});
    await until('a reader', async () => {
      await say('a', 'after');
      return Promise.race([next, new Promise((resolve) => setTimeout(resolve, 50, null))]);
    });
    const [event] = await next;
    expect(event?.data).toMatchObject({ message: { text: 'after', from: 'user' }, to: ['a'] });
  });

  test('filters by agent, channel and type', async () => {
    await open();
    await say('a', 'for a');
    await say('b', 'for b');
    const texts = (events: SubstratEvent[]) =>
      events.map(({ data }) => (data as { message?: { text: string } }).message?.text);
    expect(texts(await take(2, { after: 0, agent: 'b' }))).toEqual([undefined, 'for b']);
    expect(texts(await take(1, { after: 0, channel: 'dm-b-user' }))).toEqual(['for b']);
    expect((await take(2, { after: 0, types: ['agent_created'] })).map(({ type }) => type)).toEqual([
      'agent_created',
      'agent_created',
    ]);
  });

  test('has heartbeats with the current position, even if the filter excludes everything', async () => {
    await open({ config: '[events]\nheartbeat = "100ms"' });
    await say('a', 'x');
    const text = await readRaw('/api/events?after=0&type=none', (seen) => seen.includes('\n: 4\n'));
    expect(text).not.toContain('data:');
  });

  test('reports a position that is gone, is of another history, or is not a number', async () => {
    let now = Date.now();
    await open({ config: '[events]\nretention = "1m"', clock: () => now });
    await say('a', 'old');
    now += 120_000;
    await world.daemon.forget();
    await say('a', 'new');
    const code = async (after: string) => {
      const { status, json } = await ask(world, '/api/events', { headers: { 'last-event-id': after } });
      return [status, json.error.code];
    };
    expect(await code('0')).toEqual([410, 'gone']);
    expect(await code('999')).toEqual([410, 'gone']);
    expect(await code('x')).toEqual([400, 'bad_request']);
    const [event] = await take(1, { after: 4 });
    expect(event?.seq).toBe(5);
  });

  test.each(['user', 'anna'])("ends when its reader's token is revoked (%s)", async (as) => {
    await open({ config: '[events]\nheartbeat = "100ms"' });
    const { url } = await world.client.getStatus();
    const { id, token } = await world.client.createToken({ as });
    const client = createClient({ url: url as string, token });
    const seen: SubstratEvent[] = [];
    const reading = (async () => {
      for await (const event of client.followEvents({ after: 0 })) seen.push(event);
    })();
    const ended = expect(reading).rejects.toMatchObject({ code: 'unauthorized' });
    await world.client.createChannel({ id: 'all', kind: 'public' });
    await until('it reads', () => seen.some(({ type }) => type === 'channel_created'));
    await world.client.revokeToken(id);
    await world.client.postMessage('all', { text: 'SECRET' });
    await ended;
    expect(JSON.stringify(seen)).not.toContain('SECRET');
  });

  test('shows people no events of agents that they cannot see', async () => {
    await open({ members: { a: {}, b: { parent: 'a' } } });
    const { url } = await world.client.getStatus();
    const { token } = await world.client.createToken({ as: 'anna' });
    const anna = createClient({ url: url as string, token });
    const ask = async (agent: string) => {
      for await (const _ of anna.followEvents({ after: 0, agent })) return 'answered';
      return 'ended';
    };
    const messages = ['b', 'nobody', world.agent('b').id].map(
      (agent) => `There is no agent "${agent}" that you can see.`,
    );
    const answers = await Promise.allSettled(['b', 'nobody', world.agent('b').id].map(ask));
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.message)).toEqual(messages);
  });

  test('answers HEAD with headers only, and refuses to be pipelined after another request', async () => {
    await open();
    const { status, headers, text } = await ask(world, '/api/events?after=0', { method: 'HEAD' });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', '']);
    const lines = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
    const socket = connect(join(world.home, 'daemon.sock'));
    socket.write(lines('/api/messages/none/replies') + lines('/api/events') + lines('/health'));
    let seen = '';
    socket.setEncoding('utf8').on('data', (chunk) => (seen += chunk));
    await until('the last answer', async () => seen.includes('"ok"'));
    socket.destroy();
    expect(seen.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 400', 'HTTP/1.1 200']);
  });

  test('disconnects a reader that stops reading; it can resume', async () => {
    await open({ config: '[events]\npatience = "300ms"\n[limits]\nmax_tree_runs = 100000' });
    for (let n = 0; n < 60; n += 1) await say('a', 'x'.repeat(500_000));
    const path = '/api/events?after=0';
    const cutOff = Promise.withResolvers<void>();
    const onRequest = (message: unknown) => {
      const { request: incoming, socket } = message as { request: IncomingMessage; socket: Socket };
      if (incoming.url === path) socket.once('close', cutOff.resolve);
    };
    subscribe('http.server.request.start', onRequest);
    onTestFinished(() => void unsubscribe('http.server.request.start', onRequest));
    const bytes = await new Promise<number>((resolve) => {
      let read = 0;
      const outgoing = request({ socketPath: join(world.home, 'daemon.sock'), path });
      outgoing.on('response', (response) => {
        response.on('data', (chunk) => (read += chunk.length));
        response.pause();
        // Data that is already in the kernel still arrives.
        void cutOff.promise.then(() => response.resume());
        response.on('error', () => {});
        response.on('close', () => resolve(read));
      });
      outgoing.end();
    });
    expect(bytes).toBeLessThan(10_000_000);
    const events = await take(62, { after: 0 });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });
});

function readRaw(path: string, enough: (seen: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = '';
    const outgoing = request({ socketPath: join(world.home, 'daemon.sock'), path });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      response.setEncoding('utf8').on('data', (chunk) => {
        seen += chunk;
        if (!enough(seen)) return;
        outgoing.destroy();
        resolve(seen);
      });
      response.on('error', () => {});
    });
    outgoing.end();
  });
}
