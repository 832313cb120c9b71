import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import type { Pooling } from './model-files.ts';
import { ofLengthOne } from './vector.ts';

/** The thread that runs a model: onnxruntime computes on the thread that calls it. */

export interface ModelThreadData {
  /** A directory whose `node_modules` has onnxruntime-node. */
  readonly runtime: string;
  readonly directory: string;
  readonly weights: string;
  readonly pooling: Pooling;
}

/** Answered in the order in which they are sent. */
export type ToModel = { readonly text: string };
export type FromModel = { readonly vector: Float32Array } | { readonly failed: string };

/** The model's maximum input. A longer text is embedded in parts, and its vector is their mean. */
const MOST_TOKENS = 512;
/** With more threads, those that wait spin: twice the CPU time for little speed. */
const ONE_THREAD = { intraOpNumThreads: 1, interOpNumThreads: 1 };

const { runtime, directory, weights, pooling } = workerData as ModelThreadData;
const ort = createRequire(join(runtime, 'x.js'))('onnxruntime-node') as Onnx;
const json = (file: string) => JSON.parse(readFileSync(join(directory, file), 'utf8'));
const tokenizer = new Tokenizer(json('tokenizer.json'), json('tokenizer_config.json'));
const session = await ort.InferenceSession.create(weights, ONE_THREAD);

parentPort?.on('message', async ({ text }: ToModel) => {
  parentPort?.postMessage(await answer(text));
});

async function answer(text: string): Promise<FromModel> {
  try {
    return { vector: await embedText(text) };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

async function embedText(text: string): Promise<Float32Array> {
  const { ids } = tokenizer.encode(text);
  // Every text is enclosed by two special tokens.
  const [first = 0, last = 0] = [ids[0], ids.at(-1)];
  const own = ids.slice(1, -1);
  const parts = Math.max(1, Math.ceil(own.length / (MOST_TOKENS - 2)));
  const length = Math.ceil(own.length / parts);
  let sum: Float32Array | null = null;
  for (let part = 0; part < parts; part += 1) {
    const vector = await embedTokens([first, ...own.slice(part * length, (part + 1) * length), last]);
    sum = sum === null ? vector : sum.map((value, i) => value + (vector[i] as number));
  }
  return ofLengthOne(sum as Float32Array);
}

async function embedTokens(ids: readonly number[]): Promise<Float32Array> {
  const tensor = (value: (id: number) => bigint) =>
    new ort.Tensor('int64', BigInt64Array.from(ids, value), [1, ids.length]);
  const all = { input_ids: tensor(BigInt), attention_mask: tensor(() => 1n), token_type_ids: tensor(() => 0n) };
  const inputs = Object.fromEntries(Object.entries(all).filter(([name]) => session.inputNames.includes(name)));
  const { data, dims } = (await session.run(inputs))[session.outputNames[0] as string] as OnnxTensor;
  const dimension = dims.at(-1) as number;
  // A vector of the first token; or a model that pools itself.
  if (pooling === 'cls' || dims.length < 3) return ofLengthOne(data.slice(0, dimension));
  const sum = new Float32Array(dimension);
  for (const [i, value] of data.entries()) sum[i % dimension] = (sum[i % dimension] as number) + value;
  return ofLengthOne(sum);
}

/** The part of onnxruntime-node's API used here; it is not installed at compile time. */
interface Onnx {
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => OnnxTensor;
  readonly InferenceSession: { create(path: string, options: typeof ONE_THREAD): Promise<Session> };
}

interface OnnxTensor {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(inputs: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
}
