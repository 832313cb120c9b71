import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StoreFile } from './store-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'store-file-'));
const path = join(directory, 'store.db');
let writer: Database.Database;
let reader: Database.Database;

beforeEach(() => {
  writer = new Database(path);
  writer.pragma('journal_mode = wal');
  writer.exec('create table pages (id integer primary key, text text)');
  writer.pragma('wal_checkpoint(truncate)');
  reader = new Database(path, { readonly: true });
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

/** Looks as often as the timer would in that many seconds; each look ends before the next. */
async function look(file: StoreFile, seconds: number): Promise<string | null> {
  for (let n = 0; n < seconds && file.problem === null; n += 1) {
    vi.advanceTimersByTime(1000);
    await file.settled();
  }
  return file.problem;
}

test('a file that is short because readers held up a checkpoint is not truncated; one that somebody cut is', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const insert = writer.prepare('insert into pages (text) values (?)');
  for (let n = 0; n < 50; n += 1) insert.run('x'.repeat(3000));
  reader.exec('begin');
  reader.prepare('select count(*) from pages').get();
  writer.prepare('update pages set text = ? where id > 40').run('y'.repeat(3000));
  writer.pragma('wal_checkpoint(passive)');
  const header = Number(writer.pragma('page_count', { simple: true })) * 4096;
  expect(statSync(path).size).toBeLessThan(header);
  const file = new StoreFile(path, undefined);
  expect(await look(file, 4)).toBeNull();
  reader.exec('commit');
  writer.pragma('wal_checkpoint(passive)');
  expect(await look(file, 4)).toBeNull();
  truncateSync(path, 8192);
  expect(await look(file, 9)).toContain('truncated');
  file.stop();
  writer.close();
  reader.close();
  file.close();
});
