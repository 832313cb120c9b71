import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openStore } from '../open.ts';
import { heart } from './0001-heart.ts';
import { door } from './0002-door.ts';

test('the records of a run are unchanged and in order', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'migration-'));
  const path = join(directory, 'substrat.db');
  const database = new Database(path);
  database.exec(`${heart}${door}
    create table schema_version (version integer not null);
    insert into schema_version values (2);
    insert into participants values ('a', 'agent', 'a', 'a', 0);
    insert into trees values ('a', 0, 0, 0);
    insert into agents values
      ('a', 'a', null, 0, 'a', 'a', 'a', 'r', 'i', 'p', null, null, 'w', null, null, 'n', null, 1, 0, 0, 0, 0, null);
    insert into runs (id, seq, agent_id, tree_id, node_id, state, attempt, failures, fence, chain_depth, input_tokens, output_tokens,
      cost_usd, not_before, created_at) values ('r', 1, 'a', 'a', 'n', 'running', 1, 0, 1, 0, 0, 0, 0, 0, 0);
    insert into run_messages values
      ('r', 2, 1, 1, 'tool_return_message', 'get', 'c', 'k', '{"b":2}', 0, 1, 8),
      ('r', 1, 1, 1, 'tool_call_message', 'get', 'c', null, '{"a":1}', 0, 0, 7);
  `);
  database.close();
  const store = await openStore({ path });
  const later = { sections: null, inputTokens: null, outputTokens: null, costUsd: null };
  const both = { runId: 'r', step: 1, attempt: 1, tool: 'get', callId: 'c', isError: false, ...later };
  expect(await store.read((tx) => tx.records.listRecords({ runId: 'r' }))).toEqual([
    { ...both, n: 1, type: 'tool_call_message', callKey: null, content: { a: 1 }, effect: false, createdAt: 7 },
    { ...both, n: 2, type: 'tool_return_message', callKey: 'k', content: { b: 2 }, effect: true, createdAt: 8 },
  ]);
  await store.close();
  rmSync(directory, { recursive: true });
});
