import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openStore } from './open.ts';
import type { Result } from './query.ts';
import { remembered } from './remembered.ts';

const AGENTS = 'select * from "agents" where "id" = ?';
const EVENTS = 'select max("seq") as "seq" from "events" where "seq" < ?';
const JOINED = 'select * from "runs" inner join "agents" on "agents"."id" = "runs"."agent_id" where "runs"."id" = ?';

/** What was executed, and what executes. */
function counting({ changes = 1, rows = 1 } = {}) {
  const executed: string[] = [];
  const others = { version: 1 };
  const run = (sql: string, parameters: readonly unknown[]): Result => {
    executed.push(sql);
    if (sql.includes('broken')) throw new Error(sql);
    return { rows: Array(rows).fill([...parameters, executed.length]), changes };
  };
  const execute = remembered(run, () => others.version);
  execute('begin immediate', []);
  executed.length = 0;
  return { executed, execute, others };
}

test('a read is executed once while its tables are unchanged', () => {
  const { executed, execute } = counting();
  const first = execute(AGENTS, ['a']);
  execute('insert into "events" ("seq") values (?)', [1]);
  expect(execute(AGENTS, ['a'])).toBe(first);
  expect(executed).toEqual([AGENTS, 'insert into "events" ("seq") values (?)']);
});

test('other parameters are another read', () => {
  const { executed, execute } = counting();
  for (const id of ['a', 'b', 'a', null, 'null', '[null]', '["a"]', 1, '1', '']) execute(AGENTS, [id]);
  expect(executed.length).toBe(9);
  for (const ids of [
    ['a', 'b'],
    ['a', 'b'],
    ['ab', ''],
    ['a', null],
    [1, 2],
    ['1', '2'],
  ])
    execute(JOINED, ids);
  expect(executed.length).toBe(14);
});

test('a long result, a large parameter and too many reads are not remembered', () => {
  const { executed, execute } = counting({ rows: 17 });
  for (const id of ['a', 'a']) execute(AGENTS, [id]);
  expect(executed.length).toBe(2);
  const short = counting();
  for (const large of ['x'.repeat(201), Buffer.alloc(1)]) for (const _ of [1, 2]) short.execute(AGENTS, [large]);
  expect(short.executed.length).toBe(4);
  for (let n = 0; n < 1000; n += 1) short.execute(AGENTS, [`agent ${n}`]);
  short.execute(AGENTS, ['agent 999']);
  expect(short.executed.length).toBe(1004);
  short.execute(AGENTS, ['agent 0']);
  expect(short.executed.length).toBe(1005);
});

test.each([
  'update "agents" set "name" = ?',
  'insert into "agents" ("id") values (?)',
  'delete from "agents" where "id" = ?',
  'with "old" as (select "id" from "runs") delete from "agents" where "id" in (select "id" from "old")',
])('a change of a table forgets every read of it: %s', (change) => {
  const { executed, execute } = counting();
  for (const sql of [AGENTS, JOINED]) execute(sql, ['a']);
  execute(change, ['a']);
  for (const sql of [AGENTS, JOINED]) execute(sql, ['a']);
  expect(executed).toEqual([AGENTS, JOINED, change, AGENTS, JOINED]);
});

test('a statement that changed nothing forgets nothing', () => {
  const { executed, execute } = counting({ changes: 0 });
  for (const sql of [AGENTS, 'update "agents" set "name" = ?', AGENTS]) execute(sql, ['a']);
  expect(executed.length).toBe(2);
});

test('a deleted budget takes its charges with it', () => {
  const { executed, execute } = counting();
  for (const sql of ['select * from "charges"', 'delete from "budgets"', 'select * from "charges"']) execute(sql, []);
  expect(executed.length).toBe(3);
});

test.each(['rollback', 'rollback to savepoint writer', 'alter table agents add column x'])('%s forgets all', (sql) => {
  const { executed, execute } = counting();
  execute(AGENTS, ['a']);
  execute(sql, []);
  execute(AGENTS, ['a']);
  expect(executed).toEqual([AGENTS, sql, AGENTS]);
});

test('a statement that fails forgets all', () => {
  const { executed, execute } = counting();
  execute(AGENTS, ['a']);
  expect(() => execute('insert into broken', [])).toThrow();
  execute(AGENTS, ['a']);
  expect(executed.length).toBe(3);
});

test('agents and runs stay known in the next transaction, unless another process wrote', () => {
  const { executed, execute, others } = counting();
  const reads = [AGENTS, JOINED, EVENTS];
  const next = () => {
    for (const sql of ['savepoint writer', 'release savepoint writer', 'commit', 'begin immediate']) execute(sql, []);
    executed.length = 0;
    for (const sql of reads) execute(sql, ['a']);
    return executed;
  };
  for (const sql of reads) execute(sql, ['a']);
  expect(next()).toEqual([EVENTS]);
  others.version += 1;
  expect(next()).toEqual(reads);
  expect(next()).toEqual([EVENTS]);
});

test('a named part of a query is not a table', () => {
  const { executed, execute } = counting();
  const above = 'with recursive "above" as (select "id" from "agents") select "id" from "above" where "id" = ?';
  for (const sql of [above, 'commit', 'begin immediate', above]) execute(sql, []);
  expect(executed.filter((sql) => sql === above).length).toBe(1);
});

test('no other table is changed by the schema itself', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cascades-'));
  const path = join(directory, 'substrat.db');
  await (await openStore({ path })).close();
  const database = new Database(path, { readonly: true });
  const cascading = database
    .prepare("select name from sqlite_master where type = 'table' and lower(sql) glob '*on delete *'")
    .pluck()
    .all();
  const triggers = database.prepare("select name from sqlite_master where type = 'trigger'").pluck().all();
  database.close();
  rmSync(directory, { recursive: true });
  expect({ cascading, triggers }).toEqual({ cascading: ['charges'], triggers: [] });
});
