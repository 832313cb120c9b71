import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddingServer, embeddingSettings, startEmbeddingServer } from '../../test/helpers/embedding-server.ts';
import type { Agent } from '../core/agent.ts';
import { deletePassage, storePassage } from '../memory/passages.ts';
import { EVERYTHING, searchPassages } from '../memory/search.ts';
import { openStore } from '../store/open.ts';
import { addAgent } from '../store/store.testkit.ts';
import type { Store } from '../store/store.ts';
import { createEmbedder, type Embedder } from './embedding.ts';
import { createPassageMeaning, embedPassages } from './passage-meaning.ts';

describe('memory by meaning', () => {
  let store: Store;
  let server: EmbeddingServer;
  let embedder: Embedder;
  let agent: Agent;
  let other: Agent;
  const problems: string[] = [];

  beforeAll(async () => {
    server = await startEmbeddingServer();
    store = await openStore({ path: ':memory:' });
    const settings = embeddingSettings({ url: `${server.url}/v1`, retries: 0 });
    embedder = createEmbedder(settings, { models: '/nonexistent' }) as Embedder;
    agent = await store.write((tx) => addAgent(tx));
    other = await store.write((tx) => addAgent(tx, { nodeId: agent.nodeId }));
  });
  afterAll(async () => {
    await store.close();
    await server.close();
  });

  const put = (content: string, of = agent, at = 0) =>
    store.write((tx) => storePassage(tx, of.id, { content, tags: [] }, at));
  const embed = () =>
    embedPassages({ store, embedder, nodeId: agent.nodeId, batch: 2, signal: new AbortController().signal });
  const meaningOf = (of = embedder, patienceMs = 5000) =>
    createPassageMeaning({ store, embedder: of, patienceMs, onProblem: ({ message }) => problems.push(message) });
  const find = async (query: string, meaning = meaningOf()) =>
    (await searchPassages({ store, meaning }, { agentId: agent.id, ...EVERYTHING, query, limit: 20 })).map(
      ({ content }) => content,
    );

  test('finds what shares no word with the query, after what shares both, and only its own', async () => {
    const hour = 3_600_000;
    await put('The physician was late.', agent, hour);
    await put('We baked a loaf.', agent, 2 * hour);
    await put('The doctor called.', agent, 3 * hour);
    await put('Somebody saw a surgeon.', other, hour);
    expect(await find('doctor')).toEqual(['The doctor called.']);
    expect(await embed()).toBe(4);
    expect(await find('doctor')).toEqual(['The doctor called.', 'The physician was late.']);
    expect(await find('bakery')).toEqual(['We baked a loaf.']);
  });

  test('finds new passages in a cache that is in use, and forgets deleted ones', async () => {
    const meaning = meaningOf();
    await find('automobile', meaning);
    const id = await put('A red vehicle', agent, 9e9);
    await embed();
    expect(await find('automobile', meaning)).toEqual(['A red vehicle']);
    await store.write((tx) => deletePassage(tx, agent.id, id, 9e9));
    expect(await find('automobile', meaning)).toEqual([]);
  });

  test('a model that fails or does not answer in time leaves a search by words', async () => {
    server.refusals.push({ status: 400, body: 'no' });
    expect(await find('doctor')).toEqual(['The doctor called.']);
    expect(problems.pop()).toMatch(/400/);
    const silent = { ...embedder, embed: () => new Promise<never>(() => {}) };
    expect(await find('doctor', meaningOf(silent, 0))).toEqual(['The doctor called.']);
    expect(problems.pop()).toMatch(/did not answer within 0 ms/);
  });
});
