import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyBackup } from '../../src/backup/verify.ts';
import { migrate, NEWEST_SCHEMA } from '../../src/store/migrate.ts';
import { ctxLauncher } from '../helpers/ctx.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

let home: string;
let path: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'upgrade-'));
  path = join(home, 'substrat.db');
});

afterEach(() => rmSync(home, { recursive: true }));

/** A store as the previous version would have left it. */
async function makeOlderStore(): Promise<void> {
  const database = new Database(path);
  await migrate(
    (sql, parameters) => {
      const statement = database.prepare(sql);
      const rows = statement.reader ? statement.all(...parameters) : [];
      if (!statement.reader) statement.run(...parameters);
      return { rows, changes: 0 };
    },
    'sqlite',
    NEWEST_SCHEMA - 1,
  );
  database.exec(`insert into participants values ('p', 'person', 'Ann', 'ann', 7)`);
  database.close();
}

const backups = () => readdirSync(home).filter((name) => name.endsWith('.backup.tar.gz'));

test('a SQLite store is backed up before its schema is migrated, once, and the daemon says where', async () => {
  await makeOlderStore();
  mkdirSync(join(home, 'agents', '01a1e775-c5d3-7cc6-9eaa-e31a15200b88', 'home'), { recursive: true });
  writeFileSync(join(home, 'agents', '01a1e775-c5d3-7cc6-9eaa-e31a15200b88', 'home', 'x'), 'x');

  const { code, stdout } = await runSubstrat(['daemon', 'start'], { home });
  const [name] = backups();
  expect(code).toBe(0);
  expect(stdout).toContain(`backed up to ${join(home, name as string)} before`);
  expect((await runSubstrat(['daemon', 'logs'], { home })).stdout).toContain(
    `backed up to ${join(home, name as string)}`,
  );
  const manifest = await verifyBackup(join(home, name as string));
  expect(manifest).toMatchObject({ schemaVersion: NEWEST_SCHEMA - 1, tables: { participants: { rows: 3 } } });
  expect(Object.keys(manifest.homes)).toHaveLength(1);
  await runSubstrat(['daemon', 'stop'], { home });

  const again = await startDaemonProcess({ home });
  expect((await again.client.getStatus()).notices).toEqual([]);
  await again.stop();
  expect(backups()).toHaveLength(1);
});

test('a damaged log is reported at startup and kept; a new store or one whose daemon was killed reports nothing', async () => {
  const daemon = await startDaemonProcess({ home });
  expect((await daemon.client.getStatus()).notices).toEqual([]);
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  for (let i = 0; i < 5; i++) await daemon.client.sendMessage('me', { text: `message ${i}` });
  await daemon.kill();
  copyFileSync(`${path}-wal`, join(home, 'log'));
  const killed = await startDaemonProcess({ home });
  expect((await killed.client.getStatus()).notices).toEqual([]);
  await killed.kill();

  const { openSync, writeSync, closeSync } = await import('node:fs');
  const file = openSync(`${path}-wal`, 'r+');
  writeSync(file, Buffer.from([1, 2, 3, 4]), 0, 4, 32 + 24 + 100);
  closeSync(file);
  const { stdout } = await runSubstrat(['doctor', '--json'], { home });
  const findings = JSON.parse(stdout).findings as { what: string; state: string; detail: string }[];
  expect(findings.find(({ what }) => what === 'store')).toMatchObject({
    state: 'problem',
    detail: expect.stringMatching(/write-ahead log .* is damaged at frame 1/),
  });
  const damaged = await startDaemonProcess({ home });
  expect((await damaged.client.getStatus()).notices).toEqual([
    expect.stringMatching(/write-ahead log .* is damaged at frame 1: \d+ transactions .* A copy of the log is in/),
  ]);
  expect(readdirSync(home).filter((name) => name.includes('-wal.damaged-'))).toHaveLength(1);
  expect(await damaged.stop()).toBe(0);
});

test('ctx also backs up an older store that it opens first', async () => {
  await makeOlderStore();
  const { code, stderr } = await runSubstrat(['stats'], { home, program: ctxLauncher });
  const [name] = backups();
  expect([code, stderr]).toEqual([0, expect.stringContaining(`backed up to ${join(home, name as string)} before`)]);
  expect(await verifyBackup(join(home, name as string))).toMatchObject({ schemaVersion: NEWEST_SCHEMA - 1 });
});
