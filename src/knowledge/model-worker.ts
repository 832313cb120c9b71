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

/** Answered in the order in which they are sent. With `query`, the model is a cross-encoder, and reads both together. */
export type ToModel = { readonly text: string; readonly query?: string };
/** `vector` is the text's; of a cross-encoder, its output for the pair. */
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

parentPort?.on('message', async (asked: ToModel) => {
  parentPort?.postMessage(await answer(asked));
});

async function answer({ text, query }: ToModel): Promise<FromModel> {
  try {
    return { vector: query === undefined ? await embedText(text) : await weighPair(query, text) };
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

/** The output for a query and a text that are read together; what is too long for the model is cut off. */
async function weighPair(query: string, text: string): Promise<Float32Array> {
  const { ids, token_type_ids: types } = tokenizer.encode(query, { text_pair: text, return_token_type_ids: true });
  const cut = (list: readonly number[]) => [...list.slice(0, MOST_TOKENS - 1), list.at(-1) as number];
  const { data } = await (ids.length > MOST_TOKENS ? outputOf(cut(ids), cut(types)) : outputOf(ids, types));
  return data.slice();
}

async function outputOf(ids: readonly number[], types: readonly number[] = []): Promise<OnnxTensor> {
  const tensor = (value: (id: number, i: number) => bigint) =>
    new ort.Tensor('int64', BigInt64Array.from(ids, value), [1, ids.length]);
  const all = {
    input_ids: tensor(BigInt),
    attention_mask: tensor(() => 1n),
    token_type_ids: tensor((_, i) => BigInt(types[i] ?? 0)),
  };
  const inputs = Object.fromEntries(Object.entries(all).filter(([name]) => session.inputNames.includes(name)));
  return (await session.run(inputs))[session.outputNames[0] as string] as OnnxTensor;
}

async function embedTokens(ids: readonly number[]): Promise<Float32Array> {
  const { data, dims } = await outputOf(ids);
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
