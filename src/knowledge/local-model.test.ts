import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddingSettings } from '../../test/helpers/embedding-server.ts';
import { createEmbedder, type Embedder } from './embedding.ts';
import { blended, createReranker } from './reranker.ts';

/**
 * In the place of onnxruntime, which is a download: the vector of a token has a 1 at its number. Weights are a text
 * that says how to behave; a cross-encoder's output is how many tokens of the second text are in the first.
 */
const RUNTIME = `
const { readFileSync } = require('node:fs');
class Tensor { constructor(type, data, dims) { this.data = data; this.dims = dims; } }
const create = async (path, { intraOpNumThreads }) => {
  const weights = readFileSync(path, 'utf8');
  if (weights === 'broken' || intraOpNumThreads !== 1) throw new Error('bad weights');
  const run = async ({ input_ids: { data: ids }, token_type_ids: { data: types } = {} }) => {
    if (weights === 'pairs') {
      const of = (type) => [...ids].filter((id, i) => types[i] === type && id > 2n);
      const common = of(1n).filter((id) => of(0n).includes(id)).length;
      return { logits: { data: Float32Array.of(2 * common - 3 - (ids.length > 512 ? 100 : 0)), dims: [1, 1] } };
    }
    if (ids.includes(5n) && weights === 'fails on bread') throw new Error('no bread');
    const data = new Float32Array(ids.length * 8);
    ids.forEach((id, i) => { data[i * 8 + Number(id)] = 1; });
    return { last: { data, dims: [1, ids.length, 8] } };
  };
  const names = ['input_ids', 'attention_mask'];
  if (weights === 'pairs') return { inputNames: [...names, 'token_type_ids'], outputNames: ['logits'], run };
  return { inputNames: names, outputNames: ['last'], run };
};
module.exports = { Tensor, InferenceSession: { create } };
`;

const VOCABULARY = { '[CLS]': 0, '[SEP]': 1, '[UNK]': 2, car: 3, sea: 4, bread: 5, query: 6, text: 7 };
const special = (content: string, id: number) => ({
  ...{ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false },
});
const TOKENIZER = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [special('[CLS]', 0), special('[SEP]', 1), special('[UNK]', 2)],
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
      { Sequence: { id: 'B', type_id: 1 } },
      { SpecialToken: { id: '[SEP]', type_id: 1 } },
    ],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [0], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [1], tokens: ['[SEP]'] },
    },
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: VOCABULARY,
  },
};

const models = mkdtempSync(join(tmpdir(), 'models-'));
const put = (file: string, text: string) => {
  mkdirSync(dirname(join(models, file)), { recursive: true });
  writeFileSync(join(models, file), text);
};
const addModel = (name: string, weights: string, settings: object) => {
  put(`${name}/model.onnx`, weights);
  put(`${name}/tokenizer.json`, JSON.stringify(TOKENIZER));
  put(`${name}/tokenizer_config.json`, JSON.stringify({ tokenizer_class: 'BertTokenizer' }));
  put(`${name}/substrat-model.json`, JSON.stringify(settings));
};
const embedder = (model: string): Embedder =>
  createEmbedder(embeddingSettings({ provider: 'local', model, path: null }), { models }) as Embedder;
/** The numbers of the tokens that a vector is made of. */
const tokensOf = (vector: Float32Array | undefined) =>
  [...(vector ?? [])].flatMap((value, i) => (value > 0 ? [i] : []));

beforeAll(() => {
  const runtime = 'onnxruntime-1.30.0/node_modules';
  put(`${runtime}/onnxruntime-common/package.json`, '{}');
  put(`${runtime}/onnxruntime-node/package.json`, '{"main":"index.js"}');
  put(`${runtime}/onnxruntime-node/index.js`, RUNTIME);
  addModel('mean', 'good', { sha256: 'a'.repeat(64) });
  addModel('first', 'good', { pooling: 'cls', queryPrefix: 'query ', passagePrefix: 'text ' });
  addModel('prefixed', 'good', { queryPrefix: 'query ', passagePrefix: 'text ' });
  addModel('broken', 'broken', {});
  addModel('pairs', 'pairs', {});
  addModel('moody', 'fails on bread', {});
});
afterAll(() => rmSync(models, { recursive: true }));

describe('a local model', () => {
  test('gives vectors of length 1 in the order of the texts, the mean of their tokens', async () => {
    const made = await embedder('mean').embed(['car', 'sea bread', 'unheard'], 'passage');
    expect(made.map(tokensOf)).toEqual([
      [0, 1, 3],
      [0, 1, 4, 5],
      [0, 1, 2],
    ]);
    for (const vector of made) expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 5);
  });

  test('may take the first token, and tells queries from other texts', async () => {
    expect(tokensOf((await embedder('first').embed(['car'], 'query'))[0])).toEqual([0]);
    const prefixed = embedder('prefixed');
    expect(tokensOf((await prefixed.embed(['car'], 'query'))[0])).toEqual([0, 1, 3, 6]);
    expect(tokensOf((await prefixed.embed(['car'], 'passage'))[0])).toEqual([0, 1, 3, 7]);
  });

  test('embeds a query before the texts that wait', async () => {
    const model = embedder('mean');
    await model.embed(['car'], 'query');
    const order: string[] = [];
    const texts = model.embed(Array<string>(200).fill('sea'), 'passage').then(() => order.push('texts'));
    const query = model.embed(['car'], 'query').then(() => order.push('query'));
    await Promise.all([texts, query]);
    expect(order).toEqual(['query', 'texts']);
  });

  test('a text that fails does not end the model', async () => {
    const model = embedder('moody');
    await expect(model.embed(['bread'], 'query')).rejects.toThrow('no bread');
    expect(tokensOf((await model.embed(['car'], 'query'))[0])).toEqual([0, 1, 3]);
  });

  test('that cannot be loaded says so, every time', async () => {
    const model = embedder('broken');
    for (let n = 0; n < 2; n += 1) {
      await expect(model.embed(['car'], 'query')).rejects.toMatchObject({
        code: 'not_configured',
        message: expect.stringContaining('bad weights'),
      });
    }
    await expect(embedder('missing').embed(['car'], 'query')).rejects.toThrow('Run `ctx model list`');
  });

  test('with other weights has another name, because its vectors do not compare', () => {
    expect(embedder('mean').model).toBe('local:mean@aaaaaaaa');
    expect(embedder('first').model).toBe('local:first');
  });

  test('cannot be named outside the home', () => {
    expect(() => embedder('../elsewhere')).toThrow('[embedding] model');
  });
});

describe('a reranker', () => {
  const reranker = (rerankModel: string | null) => createReranker({ rerank: true, rerankModel }, { models });

  test('reads a query and a text together, and cuts what is too long', async () => {
    const scores = await reranker('pairs')?.scores('car sea', [
      'bread',
      'sea',
      'car sea',
      `car ${'bread '.repeat(600)}`,
    ]);
    expect(scores?.map((score) => Math.round(score * 1000))).toEqual([47, 269, 731, 269]);
  });

  test('is off unless it is configured, and needs a model that exists', async () => {
    expect(createReranker({ rerank: false, rerankModel: null }, { models })).toBeNull();
    expect(() => reranker(null)).toThrow('[retrieval] rerank_model');
    expect(() => reranker('../elsewhere')).toThrow('[retrieval] rerank_model');
    await expect(reranker('missing')?.scores('car', ['sea'])).rejects.toThrow('Run `ctx model list`');
  });

  test('is blended into the scores, and never lifts what it has not read', () => {
    const found = [0.5, 0.48, 0.3, 0.29].map((score, n) => ({ n, score }));
    const shown = blended(found, [0, 1, 0]);
    expect(shown.map(({ n }) => n)).toEqual([1, 0, 2, 3]);
    expect(shown.map(({ reranked }) => reranked)).toEqual([1, 0, 0, null]);
    expect(shown[3]?.score).toBe(shown[2]?.score);
  });
});
