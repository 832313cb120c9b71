import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { startProgram } from './load.ts';
import type { Bench } from './measure.ts';

export interface PostsOptions {
  readonly seats: readonly { readonly socketPath: string; readonly path: string }[];
}

export interface PostsOrder {
  readonly forMs: number;
  readonly clients: number;
}

export interface PostsAnswer {
  readonly ms: number;
  /** The duration of each post, in milliseconds. */
  readonly took: readonly number[];
}

/** A database behind a proxy that delays everything in each direction. Returns its URL. */
export async function delayed(database: string, delayMs: number, { defer }: Bench): Promise<string> {
  const url = new URL(database);
  const path = join(url.searchParams.get('host') as string, '.s.PGSQL.5432');
  const program = fileURLToPath(new URL('programs/delay.ts', import.meta.url));
  const child = fork(program, [path, String(delayMs)]);
  defer(() => child.kill());
  const [port] = await once(child, 'message');
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}

export interface FleetOptions {
  readonly url: string | null;
  readonly nodes: number;
  readonly clientsPerNode: number;
  readonly pool?: number;
}

export interface Fleet {
  readonly daemons: readonly RunningDaemon[];
  /** Posts per second and the durations, with so many clients per node. */
  post(forMs: number, clients: number): Promise<{ readonly perSecond: number; readonly took: readonly number[] }>;
  stop(): Promise<void>;
}

/** Nodes on one database, each with clients that post to agents of their own. Without a URL: one on SQLite. */
export async function startFleet({ scratch }: Bench, options: FleetOptions): Promise<Fleet> {
  const { url, nodes, clientsPerNode, pool } = options;
  const daemons: RunningDaemon[] = [];
  const loads: ChildProcess[] = [];
  for (let n = 0; n < nodes; n += 1) {
    const name = `n${Math.random().toString(36).slice(2, 8)}`;
    const db = url === null ? '' : `[db]\nurl = "${url}"\n${pool === undefined ? '' : `pool = ${pool}\n`}`;
    const daemon = await startDaemon(join(scratch, name), {}, `mode = "none"\n${db}[node]\nname = "${name}"\n`);
    const seats: PostsOptions['seats'][number][] = [];
    for (let client = 0; client < clientsPerNode; client += 1) {
      const { id } = await daemon.client.createAgent({ name: `${name}-${client}`, provider: 'external' });
      seats.push({ socketPath: join(daemon.home, 'daemon.sock'), path: `/api/agents/${id}/messages` });
    }
    daemons.push(daemon);
    loads.push(await startProgram('posts.ts', [JSON.stringify({ seats })]));
  }
  return {
    daemons,
    post: async (forMs, clients) => {
      const answers = await Promise.all(
        loads.map(async (load) => {
          load.send({ forMs, clients } satisfies PostsOrder);
          return (await once(load, 'message'))[0] as PostsAnswer;
        }),
      );
      const took = answers.flatMap((answer) => answer.took);
      return { perSecond: answers.reduce((sum, { ms, took: own }) => sum + (own.length / ms) * 1000, 0), took };
    },
    stop: async () => {
      for (const load of loads) load.kill();
      for (const daemon of daemons) await daemon.stop();
    },
  };
}
