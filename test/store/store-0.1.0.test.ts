import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';

/**
 * The store of a daemon of version 0.1.0: a lead that answered a request and a post in a channel, its child, an external agent with an
 * open request, a terminated agent, a block with two versions, passages, and a synced document.
 */
const FIXTURE = join(import.meta.dirname, '../fixtures/store-0.1.0.db.gz');
const NODE = 'f4c7f7ac-c661-4975-9ead-4966534722ca';

let home: string;
let path: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'older-'));
  path = join(home, 'substrat.db');
  writeFileSync(path, gunzipSync(readFileSync(FIXTURE)));
  extendDeadlines();
  writeFileSync(join(home, 'node'), `${NODE}\n`);
});

afterEach(() => rmSync(home, { recursive: true }));

test('a store of 0.1.0 has the same agents, messages, runs and memory, and goes on', async () => {
  await using daemon = await started();
  const { client } = daemon;
  const agents = (await client.listAgents({ all: true })).items;
  expect(agents.map(({ handle, state, tools }) => [handle, state, tools])).toEqual([
    ['lead', 'idle', ['send_message', 'store_memory', 'complete', 'do_nothing']],
    ['worker', 'idle', ['send_message', 'store_memory', 'complete', 'do_nothing']],
    ['gone', 'idle', null],
    ['short', 'terminated', null],
  ]);
  const { items: runs } = await client.listRuns({ agent: 'lead' });
  expect(runs.map(({ state, finalText }) => [state, finalText])).toEqual([
    ['completed', 'I heard 1 message.'],
    ['completed', 'I heard 1 message.'],
  ]);
  const { messages } = await client.getRun(runs[0]?.id ?? '');
  expect(messages.map(({ type }) => type)).toContain('tool_return_message');
  expect((await client.listChannelMessages('general')).items.map(({ text }) => text)).toEqual([
    'Good morning, everybody.',
  ]);
  expect((await client.getBlock('lead', 'mood')).text).toBe('busy');
  const { items: found } = await client.listPassages('lead', { q: 'when does the harbour open?' });
  expect(found.map(({ content, tags }) => [content, tags])).toContainEqual(['The harbour opens at six.', ['harbour']]);
  await client.sendMessage('gone', { text: 'Another one.' });
  expect((await client.listMessages('gone')).items).toHaveLength(2);
});

test('its session, its open request and its documents are read as records', async () => {
  const store = await openStore({ path });
  await store.read(async (tx) => {
    const [lead] = await tx.agents.listAgentsNamed({ nameKey: 'lead' });
    const [gone] = await tx.agents.listAgentsNamed({ nameKey: 'gone' });
    expect(lead).toMatchObject({ ready: true, completing: false, tools: expect.arrayContaining(['complete']) });
    const open = await tx.requests.listOpenRequestsTo({ recipientId: gone?.id ?? '' });
    expect(open).toMatchObject([{ askerId: 'user', state: 'open', replyId: null }]);
    const document = await tx.documents.getDocumentOf({ source: 'filesystem:docs', sourceId: 'handbook.md' });
    expect(document).toMatchObject({ tags: ['ops'], metadata: {}, contentType: 'text/markdown' });
    const chunks = await tx.documents.findChunks({ words: ['deploy'], limit: 9 });
    expect(chunks).toHaveLength(1);
  });
  await store.close();
});

/** The request was made with a deadline of a day, which has passed: the daemon would answer it with an error at any moment. */
function extendDeadlines() {
  const db = new Database(path);
  db.prepare("update requests set deadline_at = ? where state = 'open'").run(Date.now() + 3_600_000);
  db.close();
}

async function started() {
  const daemon = await startDaemonProcess({ home });
  return { ...daemon, [Symbol.asyncDispose]: async () => void (await daemon.stop()) };
}
