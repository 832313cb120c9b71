import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findWalDamage } from './wal.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wal-'));
  path = join(directory, 'x.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

const PAGE = 4096;
const FRAME = 24 + PAGE;
const at = (frame: number) => 32 + (frame - 1) * FRAME;

/** The files of a store that was killed with `count` transactions in its log, copied from the living one. */
function logOf(count: number): string {
  const database = new Database(path);
  database.pragma('journal_mode = wal');
  database.exec('create table t (x)');
  for (let i = 1; i < count; i++) database.prepare('insert into t values (?)').run(`row ${i}`);
  const copy = join(directory, 'copy.db');
  for (const end of ['', '-wal']) copyFileSync(path + end, copy + end);
  database.close();
  return copy;
}

function overwrite(file: string, position: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, position);
}

test('a complete, empty or missing log is not damaged', () => {
  expect(findWalDamage(join(directory, 'none.db'))).toBeNull();
  const copy = logOf(20);
  expect(findWalDamage(copy)).toBeNull();
  writeFileSync(`${copy}-wal`, '');
  expect(findWalDamage(copy)).toBeNull();
});

/**
 * A process wrote a transaction and died before publishing it; another one, connected all the time, then wrote less
 * there.
 */
function logOfTwo(): string {
  const begun = new Database(path);
  begun.pragma('journal_mode = wal');
  begun.exec('create table t (x)');
  const [died, went] = ['died.db', 'went.db'].map((name) => {
    const copy = join(directory, name);
    for (const end of ['', '-wal', '-shm']) copyFileSync(path + end, copy + end);
    return new Database(copy);
  }) as [Database.Database, Database.Database];
  died.prepare('insert into t values (?)').run('x'.repeat(50_000));
  went.prepare('insert into t values (1)').run();
  const copy = join(directory, 'copy.db');
  for (const end of ['', '-wal', '-shm']) copyFileSync(went.name + end, copy + end);
  const length = readFileSync(`${copy}-wal`).length;
  overwrite(`${copy}-wal`, length, readFileSync(`${died.name}-wal`).subarray(length));
  copyFileSync(`${died.name}-shm`, join(directory, 'published'));
  for (const database of [begun, died, went]) database.close();
  return copy;
}

test('a transaction that was written but not published is not damage', () => {
  const copy = logOfTwo();
  expect(findWalDamage(copy)).toBeNull();
  copyFileSync(join(directory, 'published'), `${copy}-shm`);
  expect(findWalDamage(copy)).toMatchObject({ lost: 1 });
  rmSync(`${copy}-shm`);
  expect(findWalDamage(copy)).toMatchObject({ lost: 1 });
});

test('a broken frame followed by commits is damage, and SQLite drops what the report says', () => {
  const copy = logOf(20);
  const frames = (readFileSync(`${copy}-wal`).length - 32) / FRAME;
  const rows = () => {
    const database = new Database(copy);
    const count = database.prepare('select count(*) from t').pluck().get() as number;
    database.close();
    return count;
  };
  overwrite(`${copy}-wal`, at(frames - 4) + 500, Buffer.from([1, 2, 3]));
  expect(findWalDamage(copy)).toEqual({ frame: frames - 4, lost: 4 });
  // The fifth last insert is in the broken frame itself.
  expect(rows()).toBe(19 - 5);
});

test('the end of a log may be torn, as after a crash: half a frame, garbage in the last one, frames of an earlier use', () => {
  const whole = readFileSync(`${logOf(20)}-wal`);
  const torn = join(directory, 'torn.db');
  const with_ = (bytes: Uint8Array) => {
    writeFileSync(`${torn}-wal`, bytes);
    return findWalDamage(torn);
  };
  for (const cut of [1, 100, FRAME - 1, FRAME]) expect(with_(whole.subarray(0, whole.length - cut))).toBeNull();
  const garbage = Buffer.from(whole);
  garbage.fill(7, whole.length - PAGE);
  expect(with_(garbage)).toBeNull();
  // The log is reused from its beginning, with other salts.
  const database = new Database(path);
  database.pragma('wal_autocheckpoint = 0');
  database.prepare('insert into t values (1)').run();
  for (let i = 0; i < 30; i++) database.prepare('insert into t values (?)').run(i);
  database.pragma('wal_checkpoint(restart)');
  database.prepare('insert into t values (?)').run('again');
  const reused = join(directory, 'reused.db');
  copyFileSync(`${path}-wal`, `${reused}-wal`);
  database.close();
  expect(readFileSync(`${reused}-wal`).length).toBeGreaterThan(at(20));
  expect(findWalDamage(reused)).toBeNull();
});

test('a broken header, after which everything is dropped, is damage', () => {
  const copy = logOf(5);
  const before = readFileSync(`${copy}-wal`);
  for (const position of [0, 9, 17, 25]) {
    writeFileSync(`${copy}-wal`, before);
    overwrite(`${copy}-wal`, position, Buffer.from([(before[position] as number) ^ 0xff]));
    expect(findWalDamage(copy), `byte ${position}`).not.toBeNull();
  }
});

test('a writer that is killed repeatedly never looks like damage', async () => {
  const program = `
    import Database from 'better-sqlite3';
    const database = new Database(process.argv[1]);
    database.pragma('journal_mode = wal');
    database.pragma('wal_autocheckpoint = 40');
    database.exec('create table if not exists t (x)');
    console.log('ready');
    for (let i = 0; ; i++) database.prepare('insert into t values (?)').run('x'.repeat(i % 9000));
  `;
  let logs = 0;
  for (let i = 0; i < 12; i++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, path], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    // Some transactions later, at a random point.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    child.kill('SIGKILL');
    await once(child, 'exit');
    logs += readFileSync(`${path}-wal`).length > 32 ? 1 : 0;
    expect(findWalDamage(path)).toBeNull();
  }
  expect(logs).toBeGreaterThan(6);
});
