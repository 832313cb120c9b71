import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { writeTwice } from '../../test/helpers/repeating-store.ts';
import type { Agent } from '../core/agent.ts';
import { openStore } from '../store/open.ts';
import { addAgent } from '../store/store.testkit.ts';
import type { Store } from '../store/store.ts';
import { deleteBlock, restoreBlock, seenBlock, shareBlock, writeBlock } from './blocks.ts';
import { deletePassage, indexPassages, storePassage } from './passages.ts';
import { EVERYTHING, searchPassages } from './search.ts';

function testMemory(open: () => Promise<{ store: Store; end: () => Promise<void> }>): void {
  let store: Store;
  let end: () => Promise<void>;
  let agent: Agent;
  let other: Agent;

  beforeAll(async () => {
    ({ store, end } = await open());
    [agent, other] = await store.write(async (tx) => [await addAgent(tx), await addAgent(tx)]);
  });
  afterAll(() => end());

  const write = (readerId: string, label: string, text: string, by = readerId, expected: number[] | null = null) =>
    store.write((tx) => writeBlock(tx, { readerId, label, by, expected }, text, 5));
  const labels = async (readerId: string) =>
    (await store.read((tx) => tx.memory.listSeenBlocks({ readerId }))).map(({ label, text }) => [label, text]);

  describe('a block', () => {
    test('is created by its first text, changed, deleted and restored, and keeps its history', async () => {
      expect(await write(agent.id, 'Mood', 'calm')).toMatchObject({ version: 1, text: 'calm' });
      expect(await write(agent.id, 'mood', 'happy', 'user')).toMatchObject({ version: 2, label: 'Mood' });
      const change = { readerId: agent.id, label: 'mood', by: agent.id, expected: null };
      await store.write((tx) => deleteBlock(tx, change, 6));
      expect(await labels(agent.id)).toEqual([]);
      expect(await store.write((tx) => restoreBlock(tx, change, 1, 7))).toMatchObject({ version: 4, text: 'calm' });
      await expect(store.write((tx) => restoreBlock(tx, change, 3, 8))).rejects.toMatchObject({ code: 'conflict' });
      await expect(store.write((tx) => restoreBlock(tx, change, 9, 8))).rejects.toMatchObject({ code: 'not_found' });
      const { id } = await store.read((tx) => seenBlock(tx, agent.id, 'mood'));
      const history = await store.read((tx) => tx.memory.listBlockChanges({ blockId: id, before: 99, limit: 9 }));
      expect(history.map(({ version, text, by }) => [version, text, by])).toEqual([
        [4, 'calm', agent.handle],
        [3, null, agent.handle],
        [2, 'happy', 'user'],
        [1, 'calm', agent.handle],
      ]);
    });

    test('cannot be changed by a writer who has not seen its latest version', async () => {
      const { version } = await write(agent.id, 'cas', 'a');
      expect(await write(agent.id, 'cas', 'b', agent.id, [version])).toMatchObject({ version: version + 1 });
      const stale = write(agent.id, 'cas', 'c', agent.id, [version]);
      await expect(stale).rejects.toMatchObject({ code: 'precondition_failed' });
      expect(await store.read((tx) => seenBlock(tx, agent.id, 'cas'))).toMatchObject({ text: 'b' });
    });

    test('that is shared is visible to all, and writable only by its owner until it is opened', async () => {
      const share = (label: string, readerId: string, open: boolean) =>
        store.write(async (tx) =>
          shareBlock(tx, await seenBlock(tx, readerId, label), { agentIds: [other.id], open }, 6),
        );
      for (const owner of ['user', agent.id]) {
        const label = `plan-of-${owner.slice(0, 4)}`;
        await write(owner, label, 'ours');
        await expect(store.read((tx) => seenBlock(tx, other.id, label))).rejects.toMatchObject({ code: 'not_found' });
        await share(label, owner, false);
        expect(await labels(other.id)).toContainEqual([label, 'ours']);
        await expect(write(other.id, label, 'mine')).rejects.toMatchObject({ code: 'forbidden' });
        await share(label, owner, true);
        await write(other.id, label, 'mine');
        expect(await store.read((tx) => seenBlock(tx, owner, label))).toMatchObject({ text: 'mine' });
      }
    });

    test('cannot be shared with somebody who sees another block with that label', async () => {
      await write(agent.id, 'diary', 'a');
      await write(other.id, 'diary', 'b');
      const share = store.write(async (tx) =>
        shareBlock(tx, await seenBlock(tx, agent.id, 'diary'), { agentIds: [other.id], open: false }, 6),
      );
      await expect(share).rejects.toMatchObject({ code: 'conflict' });
      expect(await labels(other.id)).toContainEqual(['diary', 'b']);
    });

    test('has a maximum size, and so do all blocks together', async () => {
      const full = await store.write((tx) => addAgent(tx));
      await expect(write(full.id, 'long', 'x'.repeat(20_001))).rejects.toMatchObject({ code: 'bad_request' });
      for (let n = 0; n < 5; n += 1) await write(full.id, `b${n}`, 'x'.repeat(20_000));
      await expect(write(full.id, 'more', 'x')).rejects.toMatchObject({ code: 'cap_reached' });
      for (let n = 0; n < 5; n += 1) await write(full.id, `b${n}`, '');
      for (let n = 5; n < 32; n += 1) await write(full.id, `b${n}`, '');
      await expect(write(full.id, 'b32', '')).rejects.toMatchObject({ code: 'cap_reached' });
    });
  });

  describe('searchPassages()', () => {
    const add = (content: string, tags: string[] = [], agentId = agent.id) =>
      store.write((tx) => storePassage(tx, agentId, { content, tags }, 5));
    const search = async (query: string) =>
      (await searchPassages({ store, meaning: null }, { agentId: agent.id, ...EVERYTHING, query, limit: 20 })).map(
        ({ content }) => content,
      );

    beforeAll(async () => {
      await add('The deployment of the web server failed on Monday.');
      await add('Deploy the web server with care; the server is old.');
      await add('Anna likes C++ and (brackets) "very" much 100%.');
      await add('Das ÄRGERNIS in Österreich', ['travel']);
      await add('東京都に住んでいます');
      await add('Rocket 🚀 launch');
      await add('The web server of somebody else', [], other.id);
    });

    test("finds by words, best match first, then by substring, and only one's own", async () => {
      expect((await search('old server deploy'))[0]).toMatch(/^Deploy the/);
      expect((await search('server')).slice(0, 2).every((content) => content.includes('web server'))).toBe(true);
      const deploys = (await search('deploys')).slice(0, 2);
      expect(deploys.map((content) => content.slice(0, 6)).sort()).toEqual(['Deploy', 'The de']);
      expect(await search('ployment')).toHaveLength(1);
      expect(await search('somebody else')).toEqual([]);
    });

    test.each([
      ['C++', /C\+\+/],
      ['(brackets', /brackets/],
      ['"very', /very/],
      ['0%', /100%/],
      ['argernis', /ÄRGERNIS/],
      ['ärgerN', /ÄRGERNIS/],
      ['travel', /Österreich/],
      ['京都', /東京都/],
      ['都', /東京都/],
      ['🚀', /🚀/],
      [`${'nothing '.repeat(1200)}rocket`.slice(-10_000), /Rocket/],
    ])('%s', async (query, found) => {
      expect((await search(query))[0]).toMatch(found);
    });

    test.each([
      // Typos, beginnings and other spellings of words that no passage has.
      ['incidnet', 'The incident began with an expired credential.'],
      ['expierd credentail', 'The incident began with an expired credential.'],
      ['kube', 'Kubernetes runs the web tier.'],
      ['Mueller', 'Herr Müller hat Urlaub.'],
      ['1299', 'The plan costs EUR 1,299.00 a year.'],
      // Units.
      ['10 km', 'The route has 10km.'],
      ['10 kilometres', 'The route has 10km.'],
      ['25kg', 'At most 25 kilograms of luggage.'],
      ['90 sec', 'It times out after 90 seconds.'],
      // A phrase, before a text that repeats its words.
      ['"red line"', 'The plan crosses a red line, they said.'],
    ])('%s finds: %s', async (query, expected) => {
      const typist = await typistOf(store);
      const wanted = { agentId: typist.id, ...EVERYTHING, query, limit: 20 };
      expect((await searchPassages({ store, meaning: null }, wanted))[0]?.content).toBe(expected);
    });

    test("near words are looked for among one's own passages, and only for words that none of them has", async () => {
      const typist = await typistOf(store);
      const wanted = { agentId: typist.id, ...EVERYTHING, limit: 20 };
      const find = async (agentId: string, query: string) =>
        (await searchPassages({ store, meaning: null }, { ...wanted, agentId, query })).map(({ content }) => content);
      expect(await find(other.id, 'kube')).toEqual([]);
      expect(await find(typist.id, 'tier')).toEqual(['Kubernetes runs the web tier.']);
      expect(await find(typist.id, 'qqqqqq zzzzzz')).toEqual([]);
    });

    test('the newest of equal matches comes first', async () => {
      for (const n of [1, 2, 3]) await add('twin text', [`n${n}`]);
      const wanted = { agentId: agent.id, ...EVERYTHING, query: 'twin', limit: 2 };
      const found = await searchPassages({ store, meaning: null }, wanted);
      expect(found.map(({ tags }) => tags)).toEqual([['n3'], ['n2']]);
    });

    test("a passage's neighbours and its date find it, after those that have the words themselves", async () => {
      const anna = await store.write((tx) => addAgent(tx));
      const day = Date.UTC(2026, 4, 14);
      const put = (content: string, at: number, runId?: string) =>
        store.write((tx) => storePassage(tx, anna.id, { content, tags: [], ...(runId && { runId }) }, at));
      const find = async (query: string) =>
        (await searchPassages({ store, meaning: null }, { agentId: anna.id, ...EVERYTHING, query, limit: 20 })).map(
          ({ content }) => content,
        );
      await put('Which database do we take for the ledger?', day);
      await put('Postgres, because of the replicas.', day + 60_000);
      await put('Lunch was late.', day + 86_400_000, 'r1');
      const last = await put('Nobody minded.', day + 2 * 86_400_000, 'r1');
      await put('A ledger is a book of accounts.', Date.UTC(2026, 8, 1));
      expect(await find('ledger')).toEqual([
        'A ledger is a book of accounts.',
        'Which database do we take for the ledger?',
        'Postgres, because of the replicas.',
      ]);
      expect((await find('which database in May')).slice(0, 2)).toEqual([
        'Which database do we take for the ledger?',
        'Postgres, because of the replicas.',
      ]);
      expect(await find('lunch')).toEqual(['Lunch was late.', 'Nobody minded.']);
      expect(await find('minded')).toEqual(['Nobody minded.', 'Lunch was late.']);
      await store.write((tx) => deletePassage(tx, anna.id, last, day));
      expect(await find('minded')).toEqual([]);
      expect((await find('"was late"'))[0]).toBe('Lunch was late.');
    });

    test("what other agents store changes neither the order nor the scores of one's own", async () => {
      const mine = await store.write((tx) => addAgent(tx));
      const word = fc.constantFrom(...'alpha beta gamma delta epsilon zeta eta theta iota kappa'.split(' '));
      const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
      const [contents = [], queries = []] = fc.sample(fc.array(text, { minLength: 60, maxLength: 60 }), {
        numRuns: 2,
        seed: 7,
      });
      for (const [n, content] of contents.entries()) {
        await store.write((tx) => storePassage(tx, mine.id, { content, tags: [] }, n * 700_000));
      }
      const all = async () => {
        const found: unknown[] = [];
        for (const query of queries) {
          const wanted = { agentId: mine.id, ...EVERYTHING, query, limit: 20 };
          const results = await searchPassages({ store, meaning: null }, wanted);
          found.push(results.map(({ id, score }) => [id, Math.round(score * 1e6)]));
        }
        return found;
      };
      const before = await all();
      for (let n = 0; n < 20; n += 1) {
        await store.write(async (tx) => {
          for (let i = 0; i < 50; i += 1) {
            await storePassage(tx, other.id, { content: 'alpha beta gamma '.repeat(1 + (i % 9)), tags: [] }, n * i);
          }
        });
      }
      expect(await all()).toEqual(before);
    });

    test('passages of an earlier version are indexed by and by', async () => {
      expect(await store.write((tx) => indexPassages(tx, 10))).toBe(0);
    });

    test('accepts any query', async () => {
      const hostile = [
        '"',
        "'",
        '""*',
        'NEAR(a b)',
        'words:x',
        '-x',
        '^a AND',
        'a OR',
        '\\',
        "'; drop",
        '*',
        '{a}:b',
        '&|!<->',
        '%_%',
      ];
      for (const query of hostile) expect(await search(query)).toBeInstanceOf(Array);
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 100 }), async (query) => {
          await search(query.replaceAll('\0', ''));
        }),
        { numRuns: 200 },
      );
    });
  });
}

const typists = new WeakMap<Store, Promise<Agent>>();

/** An agent with passages that are far apart in time, so that none is a neighbour of another. */
function typistOf(store: Store): Promise<Agent> {
  const known = typists.get(store) ?? createTypist(store);
  typists.set(store, known);
  return known;
}

async function createTypist(store: Store): Promise<Agent> {
  const contents = [
    'A line, and another line: a line of lines, not red; the line is red.',
    'The plan crosses a red line, they said.',
    'The incident began with an expired credential.',
    'Kubernetes runs the web tier.',
    'Herr Müller hat Urlaub.',
    'The plan costs EUR 1,299.00 a year.',
    'The route has 10km.',
    'The router has 10 ports, and a kilo of cables.',
    'At most 25 kilograms of luggage.',
    'It times out after 90 seconds.',
    'Page 25, line 90.',
    'He tied a knot.',
  ];
  const agent = await store.write((tx) => addAgent(tx));
  for (const [n, content] of contents.entries()) {
    await store.write((tx) => storePassage(tx, agent.id, { content, tags: [] }, n * 86_400_000));
  }
  return agent;
}

describe('on SQLite', () => {
  testMemory(async () => {
    const store = await openStore({ path: ':memory:' });
    writeTwice(store);
    return { store, end: () => store.close() };
  });
});

describeOnPostgres('on PostgreSQL', () => {
  testMemory(async () => {
    const { url, drop } = await createDatabase();
    const store = await openStore({ url });
    return { store, end: () => store.close().then(drop) };
  });
});
