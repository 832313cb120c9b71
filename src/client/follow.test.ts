import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from './client.ts';

/** A peer on a home's socket that answers one request after another. */
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

test('a reader goes on when the stream ends and the store cannot be read for a while', async () => {
  const home = await serve(event(1), failure(503, 'store'), event(2));
  const seen: number[] = [];
  for await (const { seq } of createClient({ home }).followEvents()) {
    seen.push(seq);
    if (seq === 2) break;
  }
  expect(seen).toEqual([1, 2]);
});

test('a reader is told of a refusal that time does not change', async () => {
  const home = await serve(event(1), failure(410, 'gone'));
  const follow = async () => {
    for await (const _ of createClient({ home }).followEvents());
  };
  await expect(follow()).rejects.toMatchObject({ code: 'gone' });
});
