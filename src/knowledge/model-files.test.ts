import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { modelSettings, SETTINGS_FILE, weightsIn } from './model-files.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'model-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const put = (file: string, content: unknown) => {
  mkdirSync(join(directory, file, '..'), { recursive: true });
  writeFileSync(join(directory, file), JSON.stringify(content));
};

describe('modelSettings()', () => {
  test('without any file, uses the mean of all tokens and no prefixes', () => {
    expect(modelSettings(directory, null)).toEqual({
      pooling: 'mean',
      queryPrefix: '',
      passagePrefix: '',
      sha256: null,
    });
  });

  test('knows models by their names', () => {
    expect(modelSettings(directory, 'bge-small-en-v1.5')).toMatchObject({ pooling: 'cls', passagePrefix: '' });
    expect(modelSettings(directory, 'multilingual-e5-small')).toMatchObject({
      pooling: 'mean',
      queryPrefix: 'query: ',
      passagePrefix: 'passage: ',
    });
  });

  test("reads the model's own files, and prefers what was given when it was added", () => {
    put('1_Pooling/config.json', { pooling_mode_cls_token: true, word_embedding_dimension: 384 });
    put('config_sentence_transformers.json', { prompts: { query: 'q: ', document: 'd: ' } });
    expect(modelSettings(directory, null)).toMatchObject({ pooling: 'cls', queryPrefix: 'q: ', passagePrefix: 'd: ' });
    put(SETTINGS_FILE, { pooling: 'mean', queryPrefix: '', sha256: 'abc' });
    expect(modelSettings(directory, null)).toEqual({
      pooling: 'mean',
      queryPrefix: '',
      passagePrefix: 'd: ',
      sha256: 'abc',
    });
  });

  test('names a file that cannot be read', () => {
    writeFileSync(join(directory, SETTINGS_FILE), '{');
    expect(() => modelSettings(directory, null)).toThrow(SETTINGS_FILE);
  });
});

test('weightsIn() prefers quantized weights, and says what is missing', () => {
  expect(() => weightsIn(directory)).toThrow('does not contain tokenizer.json');
  put('tokenizer.json', {});
  put('tokenizer_config.json', {});
  expect(() => weightsIn(directory)).toThrow('does not contain onnx/model_quantized.onnx');
  put('model.onnx', '');
  expect(weightsIn(directory)).toBe(join(directory, 'model.onnx'));
  put('onnx/model_quantized.onnx', '');
  expect(weightsIn(directory)).toBe(join(directory, 'onnx/model_quantized.onnx'));
});
