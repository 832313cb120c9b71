import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const LOADED_MODULES = join(import.meta.dirname, '../../test/fixtures/loaded-modules.mjs');
const described = join(import.meta.dirname, 'described.ts');

test('descriptions of providers are data: they load no library and nothing that starts a program', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'described-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'loaded');
  const env = { ...process.env, LOADED_MODULES: file };
  await promisify(execFile)(process.execPath, ['--import', LOADED_MODULES, described], { env });
  const loaded = readFileSync(file, 'utf8').trim().split('\n');
  expect(loaded.map((url) => url.replace(/.*\/src\//, ''))).toEqual(
    expect.arrayContaining(['providers/described.ts', 'providers/cursor-agent/describe.ts']),
  );
  expect(loaded.filter((url) => !/\/(described|describe|provider-names|version)\.ts$/.test(url))).toEqual([]);
});
