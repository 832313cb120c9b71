import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddingServer, embeddingSettings, startEmbeddingServer } from '../../test/helpers/embedding-server.ts';
import { until } from '../../test/helpers/until.ts';
import { createEmbedder, type Embedder } from '../knowledge/embedding.ts';
import { storePassage } from '../memory/passages.ts';
import { EVERYTHING, searchPassages } from '../memory/search.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { MemoryUpkeep } from './memory-upkeep.ts';

const FIXTURE = join(import.meta.dirname, '../../test/fixtures/store-0.1.0.db.gz');

describe('MemoryUpkeep', () => {
  let directory: string;
  let store: Store;
  let server: EmbeddingServer;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'upkeep-'));
    const path = join(directory, 'substrat.db');
    writeFileSync(path, gunzipSync(readFileSync(FIXTURE)));
    store = await openStore({ path });
    server = await startEmbeddingServer();
  });
  afterAll(async () => {
    await store.close();
    await server.close();
    rmSync(directory, { recursive: true });
  });

  test('indexes the passages of an earlier version, and embeds old and new ones', async () => {
    const [lead] = await store.read((tx) => tx.agents.listAgentsNamed({ nameKey: 'lead' }));
    if (!lead) throw new Error('There is no lead.');
    const old = await store.read((tx) => tx.memory.listUnindexedPassages({ limit: 99 }));
    expect(old.length).toBeGreaterThan(0);
    const settings = embeddingSettings({ url: `${server.url}/v1` });
    const upkeep = new MemoryUpkeep({
      store,
      home: { nodeId: lead.nodeId } as never,
      config: { embedding: { batch: 8 } } as never,
      log: { warn: (details: object) => expect(details).toBeNull() } as never,
      openEmbedder: async () => createEmbedder(settings, { models: '/nonexistent' }) as Embedder,
    });
    upkeep.start();
    const count = () => store.read((tx) => tx.memory.countPassageVectors({ agentId: lead.id, model: MODEL }));
    await until('the old passages have vectors', async () => (await count()) > 0);
    expect(await store.read((tx) => tx.memory.listUnindexedPassages({ limit: 99 }))).toEqual([]);
    const before = await count();
    await store.write((tx) => storePassage(tx, lead.id, { content: 'A red automobile', tags: [] }, 9e12));
    await until('the new passage has a vector', async () => (await count()) > before);
    const wanted = { agentId: lead.id, ...EVERYTHING, query: 'car', limit: 5 };
    const [found] = await searchPassages({ store, meaning: upkeep.meaning }, wanted);
    expect(found?.content).toBe('A red automobile');
    await upkeep.stop();
  });
});

const MODEL = 'openai:text-embedding-3-small';
