import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';

/** How a text's vector is made of those of its tokens. */
export type Pooling = 'mean' | 'cls';

/** What a model needs in addition to its weights. */
export interface ModelSettings {
  readonly pooling: Pooling;
  /** Put before a query, or before a text that is searched. Models are trained with these words. */
  readonly queryPrefix: string;
  readonly passagePrefix: string;
  /** Of the weights; null if the model was not added by `ctx model add`. */
  readonly sha256: string | null;
}

/** Written by `ctx model add` into the model's directory. */
export const SETTINGS_FILE = 'substrat-model.json';
const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json'] as const;
/** What is copied beside the weights. */
export const MODEL_FILES = [
  ...TOKENIZER_FILES,
  'config.json',
  '1_Pooling/config.json',
  'config_sentence_transformers.json',
] as const;
/** Names of models, which are directories of the home. */
export const MODEL_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
const WEIGHTS = ['onnx/model_quantized.onnx', 'model_quantized.onnx', 'onnx/model.onnx', 'model.onnx'] as const;

/** Settings of models by their usual names. */
const KNOWN: Readonly<Record<string, Partial<ModelSettings>>> = {
  'bge-small-en-v1.5': {
    pooling: 'cls',
    queryPrefix: 'Represent this sentence for searching relevant passages: ',
  },
  'multilingual-e5-small': { queryPrefix: 'query: ', passagePrefix: 'passage: ' },
};

const stored = z
  .object({
    pooling: z.enum(['mean', 'cls']),
    queryPrefix: z.string().max(1000),
    passagePrefix: z.string().max(1000),
    sha256: z.string(),
  })
  .partial();

const poolingFile = z.object({ pooling_mode_cls_token: z.boolean().optional() });
const promptsFile = z.object({ prompts: z.record(z.string(), z.string().max(1000)).optional() });

/**
 * The settings of the model in a directory: those that `ctx model add` stored, or those of its own files
 * (`1_Pooling/config.json`, `config_sentence_transformers.json`), or those that are known for its name.
 */
export function modelSettings(directory: string, name: string | null): ModelSettings {
  const cls = readJson(join(directory, '1_Pooling/config.json'), poolingFile)?.pooling_mode_cls_token;
  const prompts = readJson(join(directory, 'config_sentence_transformers.json'), promptsFile)?.prompts;
  const known = KNOWN[name ?? ''] ?? {};
  const kept = readJson(join(directory, SETTINGS_FILE), stored) ?? {};
  const own = cls === undefined ? undefined : cls ? ('cls' as const) : ('mean' as const);
  return {
    pooling: kept.pooling ?? own ?? known.pooling ?? 'mean',
    queryPrefix: kept.queryPrefix ?? prompts?.query ?? known.queryPrefix ?? '',
    passagePrefix: kept.passagePrefix ?? prompts?.passage ?? prompts?.document ?? known.passagePrefix ?? '',
    sha256: kept.sha256 ?? null,
  };
}

/** The path of the weights. Throws if the directory does not contain a model. */
export function weightsIn(directory: string): string {
  const missing = TOKENIZER_FILES.find((file) => !existsSync(join(directory, file)));
  const weights = WEIGHTS.map((file) => join(directory, file)).find((path) => existsSync(path));
  if (missing === undefined && weights !== undefined) return weights;
  throw new SubstratError(
    'not_configured',
    `The model in ${directory} cannot be loaded: it does not contain ${missing ?? WEIGHTS[0]}. Run \`ctx model list\`.`,
  );
}

function readJson<T>(path: string, schema: z.ZodType<T>): T | null {
  if (!existsSync(path)) return null;
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new SubstratError('not_configured', `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
