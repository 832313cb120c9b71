import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { start, startDaemonProcess } from './helpers/substrat.ts';

const HEAD = '[daemon]\ndefault_provider = "external"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n';
const BEFORE = `${HEAD}
[members.lead]
instructions = "old"
[members.lead.blocks]
plan = "old"
[members.ann]
parent = "lead"
[channels.general]
topic = "old"
members = ["lead", "ann"]
`;
const AFTER = `${HEAD}
[members.lead]
instructions = "new"
[members.lead.blocks]
plan = "new"
[members.ann]
parent = "lead"
role = "new"
[members.ben]
parent = "lead"
[channels.general]
topic = "new"
members = ["lead", "ben"]
[channels.more]
members = ["ben"]
`;

test('a daemon killed after each write of its reconciliation applies everything once', {
  timeout: 120_000,
}, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'apply-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const home = join(cwd, 'home');
  mkdirSync(home, { mode: 0o700 });
  const config = join(cwd, 'substrat.toml');
  writeFileSync(config, BEFORE);
  await (await startDaemonProcess({ home, config })).stop();
  writeFileSync(config, AFTER);
  const kills = await killAfterEachWrite(home, config);
  // Between two looks at the store, several writes can pass on a busy machine.
  expect(kills).toBeGreaterThan(0);
  const daemon = await startDaemonProcess({ home, config });
  onTestFinished(() => daemon.kill().then(() => {}));
  const client = createClient({ home });
  const agents = (await client.listAgents()).items.map((one) => [one.handle, one.instructions, one.role, one.revision]);
  expect(agents).toEqual([
    ['lead', 'new', 'worker', 2],
    ['ann', '', 'new', 2],
    ['ben', '', 'worker', 1],
  ]);
  expect(await client.getBlock('lead', 'plan')).toMatchObject({ text: 'new', version: 2 });
  const channel = await client.getChannel('general');
  const members = (await client.listMembers('general')).items.map(({ handle }) => handle).sort();
  expect([channel.topic, ...members]).toEqual(['new', 'ben', 'lead', 'user']);
  expect((await client.listMembers('more')).items.map(({ handle }) => handle).sort()).toEqual(['ben', 'user']);
  expect((await client.apply({ dryRun: true })).items).toEqual([]);
});

/** Kills the daemon as soon as the store has progressed since the last kill, until a start has nothing to write. */
async function killAfterEachWrite(home: string, config: string): Promise<number> {
  const db = new Database(join(home, 'substrat.db'), { readonly: true });
  const progress = db
    .prepare(
      `select (select count(*) from agents) + (select sum(revision) from agents) + (select sum(version) from blocks)
        + (select count(*) from configured) + (select sum(length(applied)) from configured)
        + (select count(*) from members) + (select count(*) from channels) + (select sum(length(topic)) from channels)`,
    )
    .pluck();
  let seen = progress.get() as number;
  for (let kills = 0; ; kills += 1) {
    const child = start(['up', '--quiet'], { home, config });
    const exited = once(child, 'exit');
    const isUp = () =>
      createClient({ home })
        .getStatus()
        .then(
          () => true,
          () => false,
        );
    let up = false;
    while (!up && progress.get() === seen) {
      await sleep(1);
      up = await isUp();
    }
    child.kill('SIGKILL');
    await exited;
    const now = progress.get() as number;
    if (now === seen) {
      db.close();
      return kills;
    }
    seen = now;
  }
}
