import { expect, test } from 'vitest';
import type { Result } from './query.ts';
import { remembered } from './remembered.ts';

const AGENTS = 'select * from "agents" where "id" = ?';
const JOINED = 'select * from "runs" inner join "agents" on "agents"."id" = "runs"."agent_id" where "runs"."id" = ?';

/** What was executed, and what executes. */
function counting() {
  const executed: string[] = [];
  const execute = remembered((sql, parameters) => {
    executed.push(sql);
    return { rows: [[...parameters, executed.length]], changes: 1 };
  }) as (sql: string, parameters: readonly unknown[]) => Result;
  return { executed, execute };
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
  for (const id of ['a', 'b', 'a']) execute(AGENTS, [id]);
  expect(executed.length).toBe(3);
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

test.each(['begin immediate', 'commit', 'rollback', 'savepoint writer', 'rollback to savepoint writer'])(
  '%s forgets everything',
  (sql) => {
    const { executed, execute } = counting();
    execute(AGENTS, ['a']);
    execute(sql, []);
    execute(AGENTS, ['a']);
    expect(executed).toEqual([AGENTS, sql, AGENTS]);
  },
);
