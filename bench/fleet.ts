import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Client } from '../src/client/client.ts';
import { startPostgres } from '../test/helpers/postgres-server.ts';
import { ask, middleOf, PROGRAM } from './ask-and-answer.ts';
import { alternate, type Bench, median, type Row } from './measure.ts';
import { delayed, type Fleet, startFleet } from './posts.ts';

const CLIENTS = 32;
/** The default of `[db] pool`. */
const POOL = 16;
const FOR_MS = 4_000;
const DELAY_MS = 1;
const RUNS = 3;

/** PostgreSQL with several nodes, far away (a proxy adds 1 ms in each direction) and near. */
export default async function fleet(bench: Bench): Promise<Row[]> {
  const server = await startPostgres({ durable: true });
  if (!('url' in server)) {
    console.error(`skipped: ${server.unavailable}`);
    return [];
  }
  bench.defer(server.stop);
  const far = await delayed(await createDatabase(server.url, 'far'), DELAY_MS, bench);
  const near = await createDatabase(server.url, 'near');
  const postmaster = postmasterOf(server.url);
  return [
    ...(await compareWithBare(bench, 'far away', far, { postmaster, atLeast: 600 })),
    ...(await compareWithBare(bench, 'near', near, { postmaster })),
    await compareWithSqlite(bench, near),
    ...(await growth(bench, far)),
    await roundTrips(bench, far),
    await betweenNodes(bench, near),
  ];
}

async function compareWithBare(
  bench: Bench,
  where: string,
  url: string,
  { postmaster, atLeast }: { readonly postmaster: string; readonly atLeast?: number },
): Promise<Row[]> {
  const bare = await startBare(url);
  const fleet = await startFleet(bench, { url, nodes: 1, clientsPerNode: CLIENTS });
  const yardsticks: number[] = [];
  const results: number[] = [];
  await bare.post(1_000);
  await fleet.post(1_000, CLIENTS);
  let posted = 0;
  let server = 0;
  const before = cpuOf(fleet);
  for (let run = 0; run < RUNS; run += 1) {
    yardsticks.push(await bare.post(FOR_MS));
    const since = cpuOfServer(postmaster);
    const { perSecond, took } = await fleet.post(FOR_MS, CLIENTS);
    results.push(perSecond);
    posted += took.length;
    server += cpuOfServer(postmaster) - since;
  }
  const perPost = (seconds: number) => `${((seconds / posted) * 1000).toFixed(2)} ms`;
  const daemon = cpuOf(fleet) - before;
  console.error(`${where}: CPU of a post: the daemon ${perPost(daemon)}, the server ${perPost(server)}`);
  await fleet.stop();
  await bare.end();
  const row = { unit: 'posts/s', yardstick: median(yardsticks), result: median(results) } as const;
  const name = `PostgreSQL ${where}, ${CLIENTS} clients`;
  const ratio: Row = { name: `${name}, of a bare client`, ...row, goalOf: 'ratio', atLeast: 0.6 };
  return atLeast === undefined ? [ratio] : [{ name, ...row, yardstick: null, goalOf: 'result', atLeast }, ratio];
}

async function compareWithSqlite(bench: Bench, url: string): Promise<Row> {
  const measured: number[] = [];
  for (const one of [null, url]) {
    const fleet = await startFleet(bench, { url: one, nodes: 1, clientsPerNode: CLIENTS });
    await fleet.post(1_000, CLIENTS);
    measured.push((await fleet.post(FOR_MS, CLIENTS)).perSecond);
    await fleet.stop();
  }
  const [yardstick = 0, result = 0] = measured;
  return { name: 'PostgreSQL near, of SQLite', unit: 'posts/s', yardstick, result, goalOf: 'ratio' };
}

/** With few connections a node, the wait for the server is the limit, and not this machine. */
async function growth(bench: Bench, url: string): Promise<Row[]> {
  const perSecond: number[] = [];
  for (const nodes of [1, 2, 4]) {
    const fleet = await startFleet(bench, { url, nodes, clientsPerNode: 8, pool: 4 });
    await fleet.post(1_000, 8);
    perSecond.push((await fleet.post(FOR_MS, 8)).perSecond);
    await fleet.stop();
  }
  const [one = 0, two = 0, four = 0] = perSecond;
  const row = { unit: 'posts/s', yardstick: one, goalOf: 'ratio' } as const;
  return [
    { name: 'two nodes with 4 connections each, of one', ...row, result: two, atLeast: 1.6 },
    { name: 'four nodes with 4 connections each, of one', ...row, result: four, atLeast: 2.5 },
  ];
}

async function roundTrips(bench: Bench, url: string): Promise<Row> {
  const fleet = await startFleet(bench, { url, nodes: 1, clientsPerNode: 1 });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const trips: number[] = [];
  for (let n = 0; n < 200; n += 1) {
    const begin = performance.now();
    await client.query('select 1');
    trips.push(performance.now() - begin);
  }
  await client.end();
  await fleet.post(1_000, 1);
  const { took } = await fleet.post(FOR_MS, 1);
  await fleet.stop();
  const name = 'a post of one client, far away, in round trips';
  return { name, unit: 'ms', yardstick: median(trips), result: median(took), goalOf: 'ratio', atMost: 7 };
}

/** A person asks an agent, which asks another one of the same node, or of another node. */
async function betweenNodes(bench: Bench, url: string): Promise<Row> {
  const fleet = await startFleet(bench, { url, nodes: 2, clientsPerNode: 0 });
  const [here, there] = fleet.daemons.map(({ client }) => client) as [Client, Client];
  for (const [asker, node] of [
    ['near', here],
    ['far', there],
  ] as const) {
    await here.createAgent({ name: asker, program: PROGRAM });
    await node.createAgent({ name: 'answerer', program: PROGRAM, parent: asker });
    await ask(here, asker);
  }
  const measured = await alternate(
    () => middleOf(() => ask(here, 'near')),
    () => middleOf(() => ask(here, 'far')),
  );
  await fleet.stop();
  const [yardstick, result] = [median(measured.yardstick), median(measured.ours)];
  const name = 'ask and answer on two nodes, over one node';
  return { name, unit: 'ms', yardstick, result, goalOf: 'difference', atMost: 60 };
}

/** As many connections, and the two round trips of a post, with nothing else. */
async function startBare(url: string) {
  const clients = Array.from({ length: POOL }, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  await clients[0]?.query('create table if not exists bare (id bigserial primary key, text text)');
  return {
    post: async (forMs: number) => {
      let posted = 0;
      const begin = performance.now();
      await Promise.all(
        clients.map(async (client) => {
          while (performance.now() - begin < forMs) {
            await client.query('begin; select 1 from bare limit 1');
            await client.query("insert into bare (text) values ('hello'); commit");
            posted += 1;
          }
        }),
      );
      return (posted / (performance.now() - begin)) * 1000;
    },
    end: () => Promise.all(clients.map((client) => client.end())),
  };
}

/** The CPU time of the daemons so far, in seconds. */
function cpuOf({ daemons }: Fleet): number {
  return daemons.reduce((sum, { pid }) => sum + cpuOfProcess(String(pid)).seconds, 0);
}

/** The CPU time of the processes of PostgreSQL, which work for connections that are open. */
function cpuOfServer(postmaster: string): number {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(cpuOfProcess).reduce((sum, { parent, seconds }) => sum + (parent === postmaster ? seconds : 0), 0);
}

/** In clock ticks of 10 ms. A process that has ended has used nothing. */
function cpuOfProcess(pid: string): { readonly parent: string; readonly seconds: number } {
  try {
    const [, parent = '', ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return { parent, seconds: (Number(fields[9]) + Number(fields[10])) / 100 };
  } catch {
    return { parent: '', seconds: 0 };
  }
}

function postmasterOf(url: string): string {
  const directory = new URL(url).searchParams.get('host') as string;
  return readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n')[0] as string;
}

async function createDatabase(server: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}
