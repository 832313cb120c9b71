import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openStore } from '../open.ts';
import { heart } from './0001-heart.ts';
import { door } from './0002-door.ts';

test('existing messages get into the inbox of the person they were written to', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'migration-'));
  const path = join(directory, 'substrat.db');
  const database = new Database(path);
  database.exec(`${heart}${door}
    create table schema_version (version integer not null);
    insert into schema_version values (2);
    insert into participants values ('a', 'agent', 'a', 'a', 0), ('b', 'agent', 'b', 'b', 0);
    insert into channels values ('a-user', 'dm', '', 'a user', null, 0), ('a-b', 'dm', '', 'a b', null, 0);
    insert into channels values ('team', 'private', '', null, null, 0);
    insert into members values ('a-user', 'a', 1), ('a-user', 'user', 2), ('a-b', 'a', 1), ('a-b', 'b', 2);
    insert into members values ('team', 'a', 1), ('team', 'user', 2);
    insert into messages (seq, id, channel_id, author_id, kind, text, late, chain_depth, created_at) values
      (1, 'asked', 'a-user', 'user', 'message', '', 0, 0, 0),
      (2, 'answered', 'a-user', 'a', 'reply', '', 0, 0, 0),
      (3, 'between agents', 'a-b', 'a', 'message', '', 0, 0, 0),
      (4, 'to the team', 'team', 'a', 'message', '', 0, 0, 0);
  `);
  database.close();
  const store = await openStore({ path });
  const inbox = await store.read((tx) => tx.messages.listInbox({ participantId: 'user', before: 9, limit: 9 }));
  expect(inbox.map(({ id }) => id)).toEqual(['answered']);
  await store.close();
  rmSync(directory, { recursive: true });
});
