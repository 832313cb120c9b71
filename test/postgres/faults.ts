import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresProxy } from '../helpers/postgres-proxy.ts';

export interface Faults {
  readonly proxy: PostgresProxy;
  /** The database, bypassing the proxy. */
  readonly url: string;
  readonly random: () => number;
  readonly cuts: number;
  /** Kills the server after this many cuts. */
  readonly crashEvery: number;
  readonly crash: () => void;
}

/** Cuts connections in every possible way. Returns how often each happened. */
export async function cutConnections(faults: Faults): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let n = 1; n <= faults.cuts; ) {
    await sleep(30 + faults.random() * 300);
    const kind = n % faults.crashEvery === 0 ? 'server killed' : choose(faults.random());
    if (!(await FAULTS[kind](faults))) continue;
    counts[kind] = (counts[kind] ?? 0) + 1;
    n += 1;
  }
  faults.proxy.mode = 'open';
  return counts;
}

type Kind = 'backend terminated' | 'connection reset' | 'cut at commit' | 'silence' | 'server killed';

function choose(roll: number): Kind {
  if (roll < 0.45) return 'backend terminated';
  if (roll < 0.7) return 'connection reset';
  return roll < 0.98 ? 'cut at commit' : 'silence';
}

/** Each returns whether it hit something. */
const FAULTS: Record<Kind, (faults: Faults) => Promise<boolean>> = {
  'backend terminated': async ({ url, random }) => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity where datname = current_database() and application_name like 'substrat %' order by pid",
      );
      const chosen = rows[Math.floor(random() * rows.length)];
      if (!chosen) return false;
      await client.query('select pg_terminate_backend($1)', [chosen.pid]);
      return true;
    } catch {
      return false; // The server is not back yet.
    } finally {
      await client.end().catch(() => {});
    }
  },
  'connection reset': async ({ proxy, random }) => {
    return proxy.cut(1 + Math.floor(random() * 4), random) > 0;
  },
  'cut at commit': async ({ proxy, random }) => {
    const before = proxy.cuts;
    proxy.mode = random() < 0.5 ? 'cut before commit' : 'cut after commit';
    for (let waited = 0; proxy.cuts === before && waited < 2_000; waited += 10) await sleep(10);
    proxy.mode = 'open';
    return proxy.cuts > before;
  },
  silence: async ({ proxy }) => {
    proxy.mode = 'hole';
    await sleep(500);
    proxy.mode = 'open';
    return true;
  },
  'server killed': async ({ crash }) => {
    crash();
    return true;
  },
};
