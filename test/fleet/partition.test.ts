import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createRandom } from '../chaos/random.ts';
import { describeOnPostgres } from '../helpers/postgres.ts';
import { startPostgresProxy } from '../helpers/postgres-proxy.ts';
import { startPostgres } from '../helpers/postgres-server.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';
import { auditTexts, unanswered } from '../postgres/ledger.ts';
import { work } from '../postgres/load.ts';

const seed = Number(process.env.SUBSTRAT_CHAOS_SEED ?? randomInt(2 ** 31));
/** How often all faults happen. */
const rounds = Number(process.env.SUBSTRAT_CHAOS_ROUNDS ?? 1);
const HOUR_MS = 3_600_000;
/** For the last answers. */
const PATIENCE_MS = 45_000;
/** Longer than the lease and than `dead_after`. */
const SILENCE_MS = 3_000;
const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');
const CLOCK = join(import.meta.dirname, '../fixtures/shifted-clock.cjs');
const ECHO = `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ messages }) => 'echo ' + messages.find(({ kind }) => kind === 'request').text);
`;

describeOnPostgres('three nodes whose clocks differ by an hour', () => {
  test(
    'lose nothing and do nothing twice, whoever is killed, stopped or cut off',
    async () => {
      const begun = performance.now();
      console.log(`partition: SUBSTRAT_CHAOS_SEED=${seed} SUBSTRAT_CHAOS_ROUNDS=${rounds}`);
      const server = await startPostgres({ durable: true });
      if (!('url' in server)) throw new Error(server.unavailable);
      onTestFinished(server.stop);
      const directory = mkdtempSync(join(tmpdir(), 'partition-'));
      onTestFinished(({ task }) => {
        if (task.result?.state === 'fail') console.log(`partition: what is left is in ${directory}`);
        else rmSync(directory, { recursive: true, force: true });
      });
      writeFileSync(join(directory, 'echo.ts'), ECHO);
      const nodes: FleetNode[] = [];
      for (const [i, name] of ['a', 'b', 'c'].entries()) {
        nodes.push(await startNode({ directory, name, shiftMs: (i - 1) * HOUR_MS, url: server.url }));
      }
      const [first] = nodes;
      const agents: { readonly id: string; readonly name: string }[] = [];
      for (const { daemon, name } of nodes) {
        agents.push(await daemon().client.createAgent({ name: `ann-${name}`, provider: 'external' }));
        await daemon().client.createAgent({ name: `echo-${name}`, program: join(directory, 'echo.ts') });
      }
      await first?.daemon().client.createChannel({ id: 'general', kind: 'public', members: [] });

      let breaking = true;
      const working = nodes.map(({ home, name }, i) =>
        work({
          home,
          agent: agents[i] as { id: string; name: string },
          echo: `echo-${nodes[(i + 1) % nodes.length]?.name}`,
          prefix: `${name} `,
          mayDie: true,
          more: () => breaking,
        }),
      );
      const random = createRandom(seed);
      for (let round = 0; round < rounds; round += 1) {
        for (const [what, fault] of shuffled(Object.entries(FAULTS), random)) {
          await sleep(500 + random() * 1_000);
          const node = nodes[Math.floor(random() * nodes.length)] as FleetNode;
          console.log(`partition: ${Math.round(performance.now() - begun)} ms: ${what} (${node.name})`);
          await fault(node, server);
        }
      }
      await sleep(1_000);
      breaking = false;
      const client = await until('the server answers', () => connected(server.url), 30_000);
      onTestFinished(() => client.end());
      const query = async (sql: string) => (await client.query(sql)).rows as Record<string, unknown>[];
      const finished = Promise.all(working);
      const stuck = sleep(PATIENCE_MS).then(async () => {
        const open = await query("select message_id, recipient_id from requests where state = 'open'");
        const live = await query("select * from runs where state in ('created', 'running')");
        throw new Error(`The load does not end: ${JSON.stringify({ open, live }, null, 2)}`);
      });
      stuck.catch(() => {});
      const loads = await Promise.race([finished, stuck]);
      const left = () =>
        query(`select runs.id from runs join agents on agents.id = agent_id
          where provider <> 'external' and state in ('created', 'running')`);
      await until('nothing runs', async () => (await left()).length === 0, 60_000);
      const unnumbered = () => query('select from events where seq is null');
      await until('every event has its number', async () => (await unnumbered()).length === 0);
      const [last] = await query('select max(seq)::int as seq, count(*)::int as n from events');
      await Promise.all(loads.map((load) => load.finish(last?.seq as number)));

      const faults: string[] = [];
      for (const load of loads) {
        const texts = 'select text, count(*) as n from messages group by text';
        const changes = 'select text, count(*) as n from block_changes group by text';
        const told = [await auditTexts(load.messages, client, texts), await auditTexts(load.blocks, client, changes)];
        console.log(`partition: ${JSON.stringify({ told, requests: load.requests.size, slowestMs: load.slowest() })}`);
        faults.push(...load.messages.faults, ...load.blocks.faults, ...(await unanswered(client, load.requests)));
        // Something may happen after the count, such as the end of a client's run.
        expect(load.seen.length).toBeGreaterThanOrEqual(last?.n as number);
        expect(load.seen).toEqual(load.seen.map((_, i) => i + 1));
      }
      expect(faults).toEqual([]);
      expect(last?.seq).toBe(last?.n);
      expect(await query("select agent_id, error from runs where state = 'failed'")).toEqual([]);
      for (const { daemon } of nodes) expect(await daemon().stop()).toBe(0);
    },
    90_000 + rounds * 60_000,
  );
});

type FleetNode = Awaited<ReturnType<typeof startNode>>;
type Fault = (node: FleetNode, server: { readonly url: string; readonly crash: () => void }) => Promise<void>;

const stall =
  (direction: 'to server' | 'to client'): Fault =>
  async ({ proxy }) => {
    proxy.stall(direction);
    await sleep(SILENCE_MS);
    proxy.flow();
  };

const FAULTS: Readonly<Record<string, Fault>> = {
  'node killed': async (node) => {
    await node.daemon().kill();
    await sleep(SILENCE_MS);
    await node.start();
  },
  'node stopped for longer than its lease': async (node) => {
    process.kill(node.daemon().pid, 'SIGSTOP');
    await sleep(SILENCE_MS);
    process.kill(node.daemon().pid, 'SIGCONT');
  },
  'nothing reaches the server': stall('to server'),
  'nothing comes from the server': stall('to client'),
  'server killed': async (_, server) => server.crash(),
  'all connections ended': async (_, server) => {
    const client = await until('the server answers', () => connected(server.url));
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'substrat %'";
    await client.query(end);
    await client.end();
  },
};

/** Null while the server is not there. */
async function connected(url: string): Promise<pg.Client | null> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  const isThere = await client.connect().then(
    () => true,
    () => false,
  );
  if (!isThere) await client.end().catch(() => {});
  return isThere ? client : null;
}

function shuffled<T>(all: readonly T[], random: () => number): T[] {
  return all
    .map((one) => ({ one, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

interface NodeOptions {
  readonly directory: string;
  readonly name: string;
  readonly shiftMs: number;
  readonly url: string;
}

async function startNode({ directory, name, shiftMs, url }: NodeOptions) {
  const proxy = await startPostgresProxy(url);
  const home = join(directory, name);
  mkdirSync(home, { mode: 0o700 });
  const config = join(directory, `${name}.toml`);
  writeFileSync(
    config,
    `[db]\nurl = "${proxy.url}"\n[node]\nname = "${name}"\ndead_after = "2s"\n[server]\nbind = "127.0.0.1:0"
[sandbox]\nmode = "none"\n[daemon]\ndefault_provider = "scripted"\nlease = "2s"
[limits]\ntool_calls_per_minute = 100000\nmax_tree_runs = 100000\n`,
  );
  const env = { NODE_OPTIONS: `--require ${CLOCK}`, SHIFTED_CLOCK_MS: String(shiftMs) };
  const launch = () => startDaemonProcess({ home, config, env });
  let daemon = await launch();
  onTestFinished(async () => {
    await daemon.kill();
    await proxy[Symbol.asyncDispose]();
  });
  // The server may not be back yet.
  const start = () =>
    until(
      `${name} is back`,
      async () => {
        const launched = await launch().catch(() => null);
        daemon = launched ?? daemon;
        return launched;
      },
      30_000,
    );
  return { name, home, proxy, daemon: () => daemon, start };
}
