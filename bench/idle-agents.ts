import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { allPages } from '../src/client/client.ts';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { fillAgents } from './fill.ts';
import type { Bench, Row } from './measure.ts';

const AGENTS = 10_000;
const PAGE = 500;

/** The cost of idle agents for a daemon; the baseline is the same daemon without them. */
export default async function idleAgents({ scratch, defer }: Bench): Promise<Row[]> {
  if (!existsSync('/proc/self/fd')) return [];
  const home = join(scratch, 'home');
  const probe = new URL('programs/probe.mjs', import.meta.url).href;
  const start = async () => {
    const daemon = await startDaemon(home, { NODE_OPTIONS: `--import ${probe}` });
    defer(() => daemon.stop());
    await listAll(daemon); // modules loaded on first use are not an agent's cost
    return daemon;
  };
  const without = await start();
  const before = await costOf(without);
  await without.stop();
  await fillAgents(home, AGENTS);
  const daemon = await start();
  const after = await costOf(daemon);
  const begin = performance.now();
  const listed = await listAll(daemon);
  const took = performance.now() - begin;
  if (listed !== AGENTS) throw new Error(`${listed} agents were listed`);

  const name = `${AGENTS} idle agents`;
  const of = (key: keyof Cost) => ({ yardstick: before[key], result: after[key], goalOf: 'difference' as const });
  return [
    { name: `${name}, processes`, unit: '', ...of('processes'), atMost: 0 },
    { name: `${name}, sockets and files`, unit: '', ...of('descriptors'), atMost: 0 },
    { name: `${name}, timers`, unit: '', ...of('timers'), atMost: 0 },
    { name: `${name}, memory`, unit: 'MB', ...of('megabytes') },
    { name: `${name}, listed by ${PAGE}`, unit: 'ms', yardstick: null, result: took, goalOf: 'result' },
  ];
}

interface Cost {
  readonly processes: number;
  readonly descriptors: number;
  readonly timers: number;
  readonly megabytes: number;
}

async function costOf({ pid, home }: RunningDaemon): Promise<Cost> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    processes: readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).length,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    timers: await timersOf(pid, join(home, 'timers')),
    megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1000,
  };
}

async function timersOf(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (;;) {
    const told = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (told) return Number(told);
    await sleep(5);
  }
}

async function listAll({ client }: RunningDaemon): Promise<number> {
  let listed = 0;
  for await (const _ of allPages(client.listAgents, PAGE)) listed += 1;
  return listed;
}
