import { join } from 'node:path';
import Database from 'better-sqlite3';
import { openStore } from '../src/store/open.ts';
import { startDaemon } from './daemon.ts';

export interface History {
  readonly messages: number;
  readonly runs: number;
  /** Terminated ones. */
  readonly agents: number;
  readonly passages: number;
}

const DAY = 86_400_000;
/** Everything is spread over as many days. */
const DAYS = 100;

/**
 * Copies the only message, run and so on of a home as often as wanted: half of the messages are in the channel `hall`,
 * the rest are replies of `echo` to the owner, every thousandth run failed, a tenth of the messages waits for `guest`.
 */
export async function fillHistory(home: string, { messages, runs, agents, passages }: History): Promise<void> {
  const path = join(home, 'substrat.db');
  const database = new Database(path);
  database.pragma('foreign_keys = off');
  database.pragma('synchronous = off');
  const copy = (table: string, from: string, count: number, columns: Record<string, string>) => {
    const names = database
      .prepare(`select * from ${table}`)
      .columns()
      .map(({ name }) => name);
    const values = names.map((name) => columns[name] ?? `one.${name}`);
    database.exec(`
      with recursive many (i) as (select 1 union all select i + 1 from many where i < ${count})
      insert into ${table} (${names}) select ${values} from many, (select * from ${table} where ${from} limit 1) as one`);
  };
  const agent = (name: string) =>
    (database.prepare('select id from agents where name = ?').get(name) as { id: string }).id;
  const [echo, guest] = [agent('echo'), agent('guest')];
  const at = `${Date.now()} - (i % ${DAYS}) * ${DAY}`;
  const [hall, dm] = [1_000_000, 3_000_000];
  const said = (id: string, from: number) => ({
    id: `'${id}' || i`,
    seq: `${from} + i`,
    created_at: at,
    in_reply_to: 'null',
  });
  copy('messages', `channel_id = 'hall'`, messages / 2, { ...said('h', hall), author_id: `'${guest}'` });
  copy('messages', `author_id = '${echo}'`, messages / 2, said('d', dm));
  copy('deliveries', 'true', messages / 10, {
    message_id: `'h' || i`,
    agent_id: `'${guest}'`,
    seq: `${hall} + i`,
    kind: `'news'`,
    state: `'pending'`,
    round: '0',
    run_id: 'null',
  });
  database.exec(`update members set read_seq = 9000000 where participant_id = '${guest}'`);
  copy('participants', `id = '${guest}'`, agents, { id: `'a' || i`, handle: `'a' || i`, handle_key: `'a' || i` });
  copy('agents', `id = '${guest}'`, agents, {
    id: `'a' || i`,
    handle: `'a' || i`,
    tree_id: `'a' || i`,
    created_at: 'i',
    terminated_at: 'i + 1',
  });
  database.exec(`insert into trees select id, 0, 0, 0 from agents where id not in (select id from trees)`);
  copy('runs', `agent_id = '${echo}'`, runs, {
    id: `'r' || i`,
    seq: `${hall} + i`,
    agent_id: `iif(i % 2, '${echo}', 'a' || (1 + i % ${agents}))`,
    tree_id: `iif(i % 2, '${echo}', 'a' || (1 + i % ${agents}))`,
    state: `iif(i % 1000, 'completed', 'failed')`,
    created_at: at,
    input_tokens: 'i % 1000',
    cost_usd: 'i % 7',
    serves: 'null',
    trigger_id: 'null',
    tallied: '0',
  });
  copy('passages', `agent_id = '${echo}'`, passages, {
    id: `'p' || i`,
    seq: `${hall} + i`,
    tags: `iif(i % 100, '[]', '["rare"]')`,
  });
  database.exec(`
    insert into passage_tags select agent_id, 'rare', seq from passages where tags = '["rare"]';
    insert into passage_words (rowid, words)
      select passages.seq, iif(passages.seq % 1000, 'w' || passages.seq, words.words)
      from passages, (select group_concat(term, ' ') as words from passage_terms where doc = (select min(seq) from passages)) as words
      where passages.seq > ${hall};
    update passage_stats set passages = passages + ${passages}, length = (select sum(length) from passages);
    update events set seq = 9000000 where seq = (select max(seq) from events);
    update counters set value = 9000000 where name = 'event'`);
  database.close();
  const store = await openStore({ path }, { durability: 'normal' });
  while ((await store.write((tx) => tx.runs.tallyRuns({ limit: 5_000 }))) > 0);
  await store.close();
}

/** One of everything, made by a daemon. */
export async function beginHistory(home: string): Promise<void> {
  const { client, stop } = await startDaemon(home);
  await client.createAgent({ name: 'echo', program: join(import.meta.dirname, 'programs/agent.ts') });
  await client.createAgent({ name: 'guest', provider: 'external' });
  await client.createChannel({ id: 'hall', members: ['guest'] });
  await client.postMessage('hall', { text: 'Good morning' });
  const { messageId } = await client.sendMessage('echo', { text: 'hello' });
  while ((await client.awaitReply(messageId, 5)) === null);
  await client.storePassage('echo', { content: 'The sea is cold.', tags: [] });
  await stop();
}
