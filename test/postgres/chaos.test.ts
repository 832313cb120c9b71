import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createRandom } from '../chaos/random.ts';
import { describeOnPostgres } from '../helpers/postgres.ts';
import { startPostgresProxy } from '../helpers/postgres-proxy.ts';
import { startPostgres } from '../helpers/postgres-server.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';
import { cutConnections } from './faults.ts';
import { auditTexts, unanswered } from './ledger.ts';
import { work } from './load.ts';

const cuts = Number(process.env.SUBSTRAT_CHAOS_CUTS ?? 50);
const seed = Number(process.env.SUBSTRAT_CHAOS_SEED ?? randomInt(2 ** 31));
const CRASH_EVERY = 40;
const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');
const ECHO = `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ messages }) => 'echo ' + messages.find(({ kind }) => kind === 'request').text);
`;

describeOnPostgres('a daemon whose connections to PostgreSQL are cut under load', () => {
  test(
    `${cuts} times survives, loses nothing acknowledged and duplicates nothing`,
    async () => {
      console.log(`chaos: SUBSTRAT_CHAOS_SEED=${seed} SUBSTRAT_CHAOS_CUTS=${cuts}`);
      const server = await startPostgres({ durable: true });
      if (!('url' in server)) throw new Error(server.unavailable);
      onTestFinished(server.stop);
      const proxy = await startPostgresProxy(server.url);
      onTestFinished(() => proxy[Symbol.asyncDispose]());
      const { home, daemon } = await startNode(proxy.url);
      const agent = await daemon.client.createAgent({ name: 'ann', provider: 'external' });
      await daemon.client.createAgent({ name: 'echo', program: join(home, '../echo.ts') });
      await daemon.client.createChannel({ id: 'general', kind: 'public', members: [] });

      let cutting = true;
      const { crash, url } = server;
      const random = createRandom(seed);
      const cut = cutConnections({ proxy, url, random, cuts, crashEvery: CRASH_EVERY, crash }).finally(() => {
        cutting = false;
      });
      const [load, counts] = await Promise.all([work({ home, agent, echo: 'echo', more: () => cutting }), cut]);

      const client = new pg.Client({ connectionString: url });
      await client.connect();
      onTestFinished(() => client.end());
      const query = async (sql: string) => (await client.query(sql)).rows as Record<string, unknown>[];
      await until(
        'nothing runs',
        async () => (await query("select from runs where state in ('created', 'running')")).length === 0,
        60_000,
      );
      // Events get their numbers after the commit.
      const unnumbered = async () => (await query('select from events where seq is null')).length;
      await until('every event has its number', async () => (await unnumbered()) === 0);
      const [last] = await query('select max(seq)::int as seq, count(*)::int as n from events');
      await load.finish(last?.seq as number);
      expect(await daemon.client.getStatus()).toMatchObject({ pid: daemon.pid });

      const told = {
        messages: await auditTexts(load.messages, client, 'select text, count(*) as n from messages group by text'),
        blocks: await auditTexts(load.blocks, client, 'select text, count(*) as n from block_changes group by text'),
        requests: load.requests.size,
      };
      console.log(`chaos: ${JSON.stringify({ ...counts, ...told, events: last?.n, slowestMs: load.slowest() })}`);
      expect([...load.messages.faults, ...load.blocks.faults]).toEqual([]);
      expect(last?.seq).toBe(last?.n);
      expect(load.seen).toEqual(Array.from({ length: last?.n as number }, (_, i) => i + 1));
      expect(await unanswered(client, load.requests)).toEqual([]);
      expect(await query("select agent_id, error from runs where state = 'failed'")).toEqual([]);
      expect(load.slowest()).toBeLessThan(30_000);
      expect(await daemon.stop()).toBe(0);
    },
    120_000 + cuts * 3_000,
  );
});

async function startNode(url: string) {
  const directory = mkdtempSync(join(tmpdir(), 'postgres-chaos-'));
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(directory, 'echo.ts'), ECHO);
  const config = join(directory, 'chaos.toml');
  writeFileSync(
    config,
    `[db]\nurl = "${url}"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n[daemon]\ndefault_provider = "scripted"\n[limits]\ntool_calls_per_minute = 100000\nmax_tree_runs = 100000\n`,
  );
  const daemon = await startDaemonProcess({ home, config });
  onTestFinished(async () => {
    await daemon.kill();
    rmSync(directory, { recursive: true, force: true });
  });
  return { home, daemon };
}
