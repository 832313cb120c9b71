import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { takeSharedDatabase } from './engine.ts';
import { startDaemonProcess } from './substrat.ts';
import { until } from './until.ts';

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');
const CONFIG = `[daemon]
max_deaths = 0
default_provider = "scripted"
[server]
bind = "127.0.0.1:0"
[sandbox]
mode = "none"
[members.ann]
program = "agent.ts"
`;

/**
 * A daemon with the scripted agent `ann`, whose turns run `turn`: the function that `runAgent` gets. Its store is a file, or on the
 * server of the project `postgres`.
 */
export async function startCrashingDaemon(turn: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'crash-'));
  const home = join(cwd, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(cwd, 'agent.ts'), `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${turn});\n`);
  const config = join(cwd, 'substrat.toml');
  const database = await takeSharedDatabase();
  writeFileSync(config, database ? `${CONFIG}[db]\nurl = ${JSON.stringify(database.url)}\n` : CONFIG);
  let daemon = await startDaemonProcess({ home, config });
  const events = database ? await watchPostgres(database.url) : watchSqlite(join(home, 'substrat.db'));
  onTestFinished(async () => {
    await events.close();
    await daemon.kill();
    await database?.giveBack();
    rmSync(cwd, { recursive: true, force: true });
  });
  const client = createClient({ home });
  return {
    client,
    /** Kills the daemon as soon as `n` more events are stored, and starts it again. */
    async crashAfter(n: number): Promise<void> {
      const before = await events.count();
      await until(`event ${n}`, async () => (await events.count()) >= before + n);
      await daemon.kill();
      daemon = await startDaemonProcess({ home, config });
    },
    /** Sends a request to ann, again until it is stored. */
    send: (text: string) =>
      until('the request', () =>
        client.sendMessage('ann', { text, inReplyTo: null }, { idempotencyKey: `send ${text}` }).catch(() => null),
      ),
  };
}

const COUNT = 'select count(*) as n from events';

function watchSqlite(path: string) {
  const database = new Database(path, { readonly: true });
  const stored = database.prepare(COUNT).pluck();
  return { count: async () => Number(stored.get()), close: async () => void database.close() };
}

async function watchPostgres(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return { count: async () => Number((await client.query(COUNT)).rows[0].n), close: () => client.end() };
}
