import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openStore } from '../open.ts';
import { heart } from './0001-heart.ts';
import { door } from './0002-door.ts';
import { fewerPages } from './0003-fewer-pages.ts';
import { sessions } from './0004-sessions.ts';

test('sessions of agents become rows that know the last completed run', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'migration-'));
  const path = join(directory, 'substrat.db');
  const database = new Database(path);
  const agent = (id: string, provider: string, session: string | null, lost: number) => `
    insert into participants values ('${id}', 'agent', '${id}', '${id}', 0);
    insert into agents (id, tree_id, depth, name, name_key, handle, role, instructions, provider, workspace, session, lost_session,
      node_id, ready, completing, rest_until, rests, created_at)
    values ('${id}', 'trunk', 0, '${id}', '${id}', '${id}', 'r', 'i', '${provider}', '/w', ${session === null ? 'null' : `'${session}'`},
      ${lost}, 'n', 1, 0, 0, 0, 0);`;
  const run = (id: string, seq: number, agentId: string, state: string) => `
    insert into runs (id, seq, agent_id, tree_id, node_id, state, attempt, failures, fence, chain_depth, input_tokens, output_tokens,
      cost_usd, not_before, created_at)
    values ('${id}', ${seq}, '${agentId}', 'trunk', 'n', '${state}', 1, 0, 1, 0, 0, 0, 0, 0, 0);`;
  database.exec(`${heart}${door}${fewerPages}${sessions}
    create table schema_version (version integer not null);
    insert into schema_version values (4);
    insert into trees values ('trunk', 0, 0, 0);
    ${agent('resumes', 'p', 's', 0)}${run('r1', 1, 'resumes', 'completed')}${run('r2', 2, 'resumes', 'completed')}
    ${run('r3', 3, 'resumes', 'failed')}
    ${agent('began', 'p', 'b', 0)}
    ${agent('nameless', 'p', null, 0)}${run('n1', 4, 'nameless', 'completed')}
    ${agent('lost', 'p', 'empty', 1)}${run('l1', 5, 'lost', 'completed')}
    ${agent('fresh', 'p', null, 0)}
    ${agent('joined', 'external', null, 0)}${run('j1', 6, 'joined', 'completed')}
  `);
  database.close();
  const store = await openStore({ path });
  const get = (agentId: string, provider = 'p') =>
    store.read((tx) => tx.sessions.getSession({ agentId, provider, account: '', insidePath: '/w' }));
  expect(await get('resumes')).toMatchObject({ handle: 's', lastRunId: 'r2', lastRunSeq: 2, lost: false });
  expect(await get('began')).toMatchObject({ handle: 'b', lastRunId: null, lastRunSeq: 0, lost: false });
  expect(await get('nameless')).toMatchObject({ handle: null, lastRunId: 'n1', lastRunSeq: 4, lost: false });
  expect(await get('lost')).toMatchObject({ handle: 'empty', lastRunId: null, lastRunSeq: 0, lost: true });
  expect(await get('joined', 'external')).toMatchObject({ handle: null, lastRunId: 'j1' });
  expect(await get('fresh')).toBeNull();
  expect(await store.read((tx) => tx.agents.getAgent({ id: 'resumes' }))).not.toHaveProperty('session');
  await store.close();
  rmSync(directory, { recursive: true });
});
