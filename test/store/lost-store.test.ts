import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { ask } from '../helpers/http.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

let home: string;
let path: string;
let daemon: Awaited<ReturnType<typeof startDaemonProcess>>;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lost-'));
  path = join(home, 'substrat.db');
  daemon = await startDaemonProcess({ home });
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  await daemon.client.sendMessage('me', { text: 'before' });
});

afterEach(async () => {
  await daemon.kill();
  rmSync(home, { recursive: true });
});

const post = () => ask({ home }, '/api/agents/me/messages', { method: 'POST', body: { text: 'after' } });

/** Within seconds nothing is acknowledged any more, and every output says why. */
async function noticed(what: RegExp): Promise<void> {
  const refused = await until('the daemon notices', async () => {
    const answer = await post();
    return answer.status !== 201 && answer;
  });
  expect([refused.status, refused.json.error.code]).toEqual([503, 'store']);
  expect(refused.json.error.message).toMatch(what);
  const health = await ask({ home }, '/health');
  expect([health.status, health.json.error.message]).toEqual([503, expect.stringMatching(what)]);
  expect((await daemon.client.getStatus()).notices[0]).toMatch(what);
}

/** It does not wait for a store that is lost. */
async function stopsAtOnce(): Promise<void> {
  const begun = performance.now();
  expect(await daemon.stop()).toBe(1);
  expect(performance.now() - begun).toBeLessThan(5_000);
}

const rescued = () => readdirSync(home).filter((name) => name.includes('.rescued-'));

describe('a store that is lost under the daemon', () => {
  test('deleted: it stops writing, and saves its data when it stops', async () => {
    for (const end of ['', '-wal', '-shm']) rmSync(path + end);
    await noticed(/substrat\.db was deleted while the daemon was running\. Writing has stopped\. Stop the daemon/);
    await stopsAtOnce();
    const [copy] = rescued();
    const database = new Database(join(home, copy as string), { readonly: true });
    expect(database.prepare("select count(*) from messages where text = 'before'").pluck().get()).toBe(1);
    database.close();
  });

  test('moved away and back: it continues, and reports it once', async () => {
    renameSync(path, `${path}.away`);
    await noticed(/was deleted while the daemon was running/);
    renameSync(`${path}.away`, path);
    await until('it writes again', async () => (await post()).status === 201);
    // Three more checks.
    await new Promise((resolve) => setTimeout(resolve, 3_100));
    const log = readFileSync(join(home, 'daemon.log'), 'utf8');
    expect(log.match(/the store file is back/g)).toHaveLength(1);
    expect(await daemon.stop()).toBe(0);
    expect(rescued()).toEqual([]);
  });

  test('replaced: the other file is not changed', async () => {
    const other = join(home, 'other.db');
    const store = await openStore({ path: other });
    await store.write((tx) => tx.participants.insertPerson({ id: 'p', handle: 'Ann', handleKey: 'ann', at: 1 }));
    for (const end of ['', '-wal', '-shm']) copyFileSync(other + end, `${path}${end}.new`);
    for (const end of ['', '-wal', '-shm']) renameSync(`${path}${end}.new`, path + end);
    await noticed(/was replaced while the daemon was running/);
    await stopsAtOnce();
    await store.close();
    const database = new Database(path);
    expect(database.prepare("select handle from participants where id = 'p'").pluck().get()).toBe('Ann');
    database.close();
    expect(rescued()).toHaveLength(1);
  });

  test.each([
    ['the file, to a part', '', 0.5],
    ['its log', '-wal', 0],
  ])('truncated: %s', async (_, end, part) => {
    for (let i = 0; i < 10; i++) await daemon.client.sendMessage('me', { text: 'x'.repeat(10_000) });
    if (end === '') {
      // Data that is only in the log is not in the file yet.
      const beside = new Database(path);
      beside.pragma('wal_checkpoint(passive)');
      beside.close();
    }
    truncateSync(path + end, Math.floor(statSync(path + end).size * part));
    // The next write already notices it: a checkpoint after it would hide that the log was short.
    if (end === '-wal') expect((await post()).status).toBe(503);
    await noticed(/was truncated while the daemon was running/);
    await stopsAtOnce();
  });
});

test('checkpoints, compaction and other processes cause no false alarm', async () => {
  const end = Date.now() + 2_500;
  let posted = 0;
  const posting = (async () => {
    for (; Date.now() < end; posted++) expect((await post()).status).toBe(201);
  })();
  while (Date.now() < end) {
    const beside = new Database(path, { timeout: 10_000 });
    beside.exec('create table if not exists filler (x); insert into filler values (zeroblob(3000000))');
    beside.pragma('wal_checkpoint(truncate)');
    beside.exec('drop table filler');
    beside.exec('vacuum');
    beside.pragma('wal_checkpoint(truncate)');
    beside.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await posting;
  expect(posted).toBeGreaterThan(0);
  expect((await daemon.client.getStatus()).notices).toEqual([]);
  expect(await daemon.stop()).toBe(0);
  expect(existsSync(path)).toBe(true);
});
