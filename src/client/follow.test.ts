import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { turnOfOthers } from '../core/turn-of-others.ts';
import { createClient } from './client.ts';

/** A server on a home's socket with scripted responses, in order. */
async function serve(...answers: readonly ((response: ServerResponse) => void)[]): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'follow-'));
  let n = 0;
  const server = createServer((_, response) => answers[n++]?.(response));
  await once(server.listen(join(home, 'daemon.sock')), 'listening');
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    rmSync(home, { recursive: true });
  });
  return home;
}

const event = (seq: number) => (response: ServerResponse) => {
  const data = JSON.stringify({ seq, type: 'test', at: '2026-01-01T00:00:00.000Z', data: {} });
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`id: ${seq}\nevent: test\ndata: ${data}\n\n`);
};
const failure = (status: number, code: string) => (response: ServerResponse) => {
  response.writeHead(status).end(JSON.stringify({ error: { code, message: 'It failed.' } }));
};

test('a reader reconnects when the stream ends and the store is unavailable for a while', async () => {
  const home = await serve(event(1), failure(503, 'store'), event(2));
  const seen: number[] = [];
  for await (const { seq } of createClient({ home }).followEvents()) {
    seen.push(seq);
    if (seq === 2) break;
  }
  expect(seen).toEqual([1, 2]);
});

test('a reader gets a permanent error', async () => {
  const home = await serve(event(1), failure(410, 'gone'));
  const follow = async () => {
    for await (const _ of createClient({ home }).followEvents());
  };
  await expect(follow()).rejects.toMatchObject({ code: 'gone' });
});

test.each([204, 302, 304])('a reader does not wait for events after a response with status %i', async (status) => {
  const home = await serve((response) => response.writeHead(status).end());
  const next = createClient({ home }).followEvents().next();
  await expect(next).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining(String(status)) });
});

test('a reader does not wait for events of another protocol', async () => {
  const home = await serve((response) => {
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n');
  });
  await expect(createClient({ home }).followEvents().next()).rejects.toThrow('101');
});

test('a reader retries when an error response is cut off', async () => {
  const broken = (response: ServerResponse) => {
    response.writeHead(410, { 'content-length': '100' }).flushHeaders();
    response.socket?.end();
  };
  const home = await serve(event(1), broken, event(2));
  const events = createClient({ home }).followEvents();
  expect([(await events.next()).value, (await events.next()).value]).toMatchObject([{ seq: 1 }, { seq: 2 }]);
  await events.return(undefined);
});

test('a reader parses a stream in pieces, and resumes after the last sequence number', async () => {
  const asked: (string | undefined)[] = [];
  const bytes = Buffer.from(
    `retry: 1000\n: 6\n\n: hello\n\nid: 7\nevent: test\ndata: ${JSON.stringify({ seq: 7, name: 'Zoë' })}\n\n: 9\n\n`,
  );
  const pieces = async (response: ServerResponse) => {
    asked.push(response.req.headers['last-event-id'] as string | undefined);
    for (const byte of bytes) {
      response.write(Buffer.of(byte));
      await turnOfOthers();
    }
    response.end();
  };
  const home = await serve(pieces, pieces);
  const events = createClient({ home }).followEvents();
  expect((await events.next()).value).toEqual({ seq: 7, name: 'Zoë' });
  await events.next();
  expect(asked).toEqual([undefined, '9']);
  await events.return(undefined);
});
