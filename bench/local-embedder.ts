import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config/config.ts';
import { createEmbedder, type Embedder } from '../src/knowledge/embedding.ts';

/** Where benchmarks keep what they download. */
export const MODELS = join(import.meta.dirname, '../node_modules/.cache/substrat-quality/models');

/** The default model, loaded; null, with a message, if it cannot be fetched. */
export async function loadedEmbedder(): Promise<Embedder | null> {
  mkdirSync(MODELS, { recursive: true });
  const { embedding } = loadConfig({ cwd: tmpdir(), home: tmpdir(), env: {} });
  const embedder = createEmbedder({ ...embedding, provider: 'local' }, { models: MODELS });
  try {
    await embedder?.embed(['a text'], 'query');
    return embedder;
  } catch (error) {
    console.error(`search by meaning is left out: ${(error as Error).message}`);
    return null;
  }
}
