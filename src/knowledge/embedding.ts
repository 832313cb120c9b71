import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import type { EmbeddingSettings } from './embedding-settings.ts';
import type { EmbeddingProgress, LocalModel, TextKind } from './local-model.ts';
import { MODEL_NAME, modelSettings } from './model-files.ts';

export type { EmbeddingSettings } from './embedding-settings.ts';
export type { EmbeddingProgress } from './local-model.ts';

/** Turns texts into vectors of length 1. */
export interface Embedder {
  /** Provider and model. Vectors of different models are never compared. */
  readonly model: string;
  /** Some models read a query in another way than the texts that it should find. */
  embed(texts: readonly string[], kind: TextKind): Promise<Float32Array[]>;
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
    const { path, model: name } = settings;
    const { directory, version } = placeOf(settings, place);
    let loading: Promise<LocalModel> | null = null;
    const load = async () => (await import('./local-model.ts')).loadLocalModel({ ...place, directory, name });
    return {
      model: `local:${path ?? name ?? 'all-MiniLM-L6-v2-q8'}${version}`,
      embed: async (texts, kind) => {
        loading ??= load();
        const model = await loading.catch((error: unknown) => {
          loading = null;
          throw error;
        });
        return model.embed(texts, kind);
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

/** A path is a directory of the user's; a name is one that `ctx model add` made. Other weights are another version. */
function placeOf({ path, model }: EmbeddingSettings, { models }: EmbeddingPlace) {
  if (path !== null || model === null) return { directory: path, version: '' };
  if (!MODEL_NAME.test(model)) {
    const why = `[embedding] model must be the name of a model that \`ctx model list\` shows; got "${model}".`;
    throw new SubstratError('not_configured', why);
  }
  const directory = join(models, model);
  const { sha256 } = modelSettings(directory, model);
  return { directory, version: sha256 === null ? '' : `@${sha256.slice(0, 8)}` };
}

export function embeddingsDisabled(): SubstratError {
  return new SubstratError(
    'embeddings_disabled',
    'Semantic and hybrid search need embeddings: set [embedding] provider in the configuration, then run `ctx embed pending`.',
  );
}
