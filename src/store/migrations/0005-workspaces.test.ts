import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { expect, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../../test/helpers/postgres.ts';
import { openStore } from '../open.ts';
import type { Store } from '../store.ts';
import { heart } from './0001-heart.ts';
import { door } from './0002-door.ts';

const agents: [id: string, parent: string | null, workspace: string][] = [
  ['lead', null, '/home/workspaces/lead'],
  ['same', 'lead', '/home/workspaces/lead'],
  ['deep', 'same', '/home/workspaces/lead/sub'],
  ['apart', 'lead', '/home/workspaces/lead-2'],
  ['site', null, '/site'],
  ['guest', null, '/site'],
];

/** A store of the second version, with agents in it. */
const old = `${heart}${door}
create table schema_version (version integer not null);
insert into schema_version values (2);
${agents
  .map(
    ([id, parent, workspace], i) => `
insert into participants values ('${id}', 'agent', '${id}', '${id}', ${i});
${parent === null ? `insert into trees values ('${id}', 0, 0, 0);` : ''}
insert into agents (id, tree_id, parent_id, depth, name, name_key, handle, role, instructions, provider, workspace,
  node_id, ready, completing, rest_until, rests, created_at)
  values ('${id}', '${parent === null ? id : 'lead'}', ${parent === null ? 'null' : `'${parent}'`}, 0, '${id}', '${id}',
  '${id}', 'worker', '', 'external', '${workspace}', 'n', 1, 0, 0, 0, ${i});`,
  )
  .join('')}
`;

async function expectWorkspaces(store: Store): Promise<void> {
  const rows = await store.read((tx) => tx.workspaces.listWorkspaces({ after: '', limit: 10 }));
  expect(rows.map(({ name, owner, path, made }) => [name, owner, path, made])).toEqual([
    ['apart', 'apart', '/home/workspaces/lead-2', false],
    ['lead', 'lead', '/home/workspaces/lead', true],
    ['site', 'site', '/site', false],
  ]);
  const seats: [string, string | null | undefined][] = [];
  for (const [id] of agents) seats.push([id, (await store.read((tx) => tx.agents.getAgent({ id })))?.workspaceId]);
  expect(seats).toEqual([
    ['lead', 'lead'],
    ['same', 'lead'],
    ['deep', 'lead'],
    ['apart', 'apart'],
    ['site', 'site'],
    ['guest', 'site'],
  ]);
}

test('existing agents get workspaces, on SQLite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'migration-'));
  const path = join(directory, 'substrat.db');
  const database = new Database(path);
  database.exec(old);
  database.close();
  const store = await openStore({ path });
  await expectWorkspaces(store);
  await store.close();
  rmSync(directory, { recursive: true });
});

describeOnPostgres('on a server', () => {
  test('existing agents get workspaces, on PostgreSQL', async () => {
    const { url, drop } = await createDatabase();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(old);
    await client.end();
    const store = await openStore({ url });
    await expectWorkspaces(store);
    await store.close();
    await drop();
  });
});
