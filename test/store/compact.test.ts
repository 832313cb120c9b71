import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

let home: string;
let path: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'compact-'));
  path = join(home, 'substrat.db');
});

afterEach(() => rmSync(home, { recursive: true }));

test('shrinks the file while a daemon runs, which continues', async () => {
  const daemon = await startDaemonProcess({ home });
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  const beside = new Database(path, { timeout: 10_000 });
  beside.exec('create table filler (x); insert into filler values (zeroblob(20000000)); drop table filler');
  beside.pragma('wal_checkpoint(truncate)');
  beside.close();
  const before = statSync(path).size;
  expect(before).toBeGreaterThan(20_000_000);
  const { code, stdout } = await runSubstrat(['store', 'compact', '--json'], { home });
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    { status: 'compacted', before: expect.any(Number), after: expect.any(Number) },
  ]);
  await daemon.client.sendMessage('me', { text: 'still writing' });
  expect(statSync(path).size).toBeLessThan(before / 2);
  expect((await daemon.client.getStatus()).notices).toEqual([]);
  expect(await daemon.stop()).toBe(0);
});

test('a PostgreSQL store and a missing one are reported in one sentence', async () => {
  const config = join(home, 'config.toml');
  writeFileSync(config, '[db]\nurl = "postgres://127.0.0.1:1/none"\n');
  const postgres = await runSubstrat(['store', 'compact'], { home });
  expect([postgres.code, postgres.stderr]).toEqual([1, expect.stringMatching(/VACUUM FULL/)]);
  rmSync(config);
  const none = await runSubstrat(['store', 'compact'], { home });
  expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/There is no store at/)]);
});
