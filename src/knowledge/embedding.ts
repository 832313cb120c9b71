import { SubstratError } from '../core/errors.ts';
import type { EmbeddingSettings } from './embedding-settings.ts';
import type { EmbeddingProgress } from './local-model.ts';

export type { EmbeddingSettings } from './embedding-settings.ts';
export type { EmbeddingProgress } from './local-model.ts';

/** Turns texts into vectors of length 1. */
export interface Embedder {
  /** Provider and model. Vectors of different models are never compared. */
  readonly model: string;
  embed(texts: readonly string[]): Promise<Float32Array[]>;
}

export interface EmbeddingPlace {
  /** Where the downloaded model and its runtime are stored. */
  readonly models: string;
  /** Called with the download's progress. */
  readonly onFetch?: (progress: EmbeddingProgress) => void;
}

/** Returns null if embeddings are disabled. Nothing is loaded or downloaded before the first text. */
export function createEmbedder(settings: EmbeddingSettings, place: EmbeddingPlace): Embedder | null {
  const { provider } = settings;
  if (provider === 'disabled') return null;
  if (provider === 'local') {
    let loading: Promise<(text: string) => Promise<Float32Array>> | null = null;
    const load = async () => (await import('./local-model.ts')).loadLocalModel({ ...place, path: settings.path });
    return {
      model: settings.path === null ? 'local:all-MiniLM-L6-v2-q8' : `local:${settings.path}`,
      embed: async (texts) => {
        loading ??= load();
        const embedOne = await loading.catch((error: unknown) => {
          loading = null;
          throw error;
        });
        const vectors: Float32Array[] = [];
        // One text at a time: in a batch, the other texts would change its vector through rounding.
        for (const text of texts) vectors.push(await embedOne(text));
        return vectors;
      },
    };
  }
  const model = settings.model ?? (provider === 'ollama' ? 'nomic-embed-text' : 'text-embedding-3-small');
  return {
    model: `${provider}:${model}${settings.dimension === null ? '' : `@${settings.dimension}`}`,
    embed: async (texts) => {
      const { embedRemotely } = await import('./remote-model.ts');
      return embedRemotely({ ...settings, provider, model }, texts);
    },
  };
}

export function embeddingsDisabled(): SubstratError {
  return new SubstratError(
    'embeddings_disabled',
    'Semantic and hybrid search need embeddings: set [embedding] provider in the configuration, then run `ctx embed pending`.',
  );
}
