import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ctxJson, runCtx } from '../helpers/ctx.ts';

const directory = mkdtempSync(join(tmpdir(), 'ctx-model-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('ctx model adds, lists and uses a model, and leaves the rest of the configuration as it is', async () => {
  const before =
    '# mine\n[embedding]\nprovider = "ollama"\nmodel = "nomic"\nbatch = 8\n\n[chunking]\nmax_tokens = 300\n';
  writeFileSync(join(directory, 'ctx.toml'), before);
  mkdirSync(join(directory, 'weights'));
  for (const file of ['tokenizer.json', 'tokenizer_config.json']) writeFileSync(join(directory, 'weights', file), '{}');
  writeFileSync(join(directory, 'weights/model.onnx'), 'weights');

  const unknown = await runCtx(directory, 'model', 'use', 'tiny');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Run `ctx model list`')]);
  await ctxJson(directory, 'model', 'add', 'tiny', 'weights', '--pooling', 'cls');
  expect(await ctxJson(directory, 'model', 'use', 'tiny')).toMatchObject({ model: 'tiny' });
  expect(readFileSync(join(directory, 'ctx.toml'), 'utf8')).toBe(
    '# mine\n[embedding]\nprovider = "local"\nmodel = "tiny"\nbatch = 8\n\n[chunking]\nmax_tokens = 300\n',
  );
  const { models } = await ctxJson<{ models: object[] }>(directory, 'model', 'list');
  expect(models).toMatchObject([
    { name: 'default', used: false },
    { name: 'tiny', used: true, about: expect.stringContaining('first token') },
  ]);
});
