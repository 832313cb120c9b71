import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';

const CONNECTIONS = 16;
const REQUESTS = 2000;

interface Target {
  readonly url: string;
  readonly headers: Record<string, string>;
}

/** Requests per second over TCP with keep-alive, compared with a bare route that makes the same store call. */
export default async function rest({ scratch, defer }: Bench): Promise<Row[]> {
  const bare = await startBare({ scratch, defer });
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  const { id } = await daemon.client.createAgent({ name: 'me', provider: 'external' });
  const { url } = await daemon.client.getStatus();
  const token = readFileSync(join(daemon.home, 'token'), 'utf8').trim();
  const ours = { url: url as string, headers: { authorization: `Bearer ${token}` } };
  return [
    await compare(
      'GET of an agent',
      () => load(bare, '/agent'),
      () => load(ours, `/api/agents/${id}`),
    ),
    await compare(
      'POST of a message',
      () => load(bare, '/message', '{"text":"hello"}'),
      () => load(ours, `/api/agents/${id}/messages`, '{"text":"hello"}'),
    ),
  ];
}

async function compare(name: string, yardstick: () => Promise<number>, ours: () => Promise<number>): Promise<Row> {
  for (const warm of [yardstick, ours]) await warm();
  const measured = await alternate(yardstick, ours);
  return {
    name: `${name} over TCP`,
    unit: 'requests/s',
    ...compared(measured),
    goalOf: 'ratio',
    atLeast: 0.8,
  };
}

async function startBare({ scratch, defer }: Bench): Promise<Target> {
  const program = fileURLToPath(new URL('programs/bare-http.ts', import.meta.url));
  const child = fork(program, [join(scratch, 'bare.db')]);
  defer(() => child.kill());
  const [port] = await once(child, 'message');
  return { url: `http://127.0.0.1:${port}`, headers: {} };
}

async function load({ url, headers }: Target, path: string, body?: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const type: Record<string, string> = body ? { 'content-type': 'application/json' } : {};
      const outgoing = request(new URL(path, url), {
        agent,
        method: body ? 'POST' : 'GET',
        headers: { ...headers, ...type },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        if ((response.statusCode ?? 500) >= 300) reject(new Error(`${path} answered ${response.statusCode}`));
        response.resume().on('end', resolve);
      });
      outgoing.end(body);
    });
  let left = REQUESTS;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await one();
    }),
  );
  agent.destroy();
  return (REQUESTS / (performance.now() - begin)) * 1000;
}
