import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { described } from './described.ts';

const LOADED_MODULES = join(import.meta.dirname, '../../test/fixtures/loaded-modules.mjs');
const file = join(import.meta.dirname, 'described.ts');

test('descriptions of providers are data: they load no library and nothing that starts a program', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'described-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const record = join(directory, 'loaded');
  const env = { ...process.env, LOADED_MODULES: record };
  await promisify(execFile)(process.execPath, ['--import', LOADED_MODULES, file], { env });
  const loaded = readFileSync(record, 'utf8').trim().split('\n');
  expect(loaded.map((url) => url.replace(/.*\/src\//, ''))).toEqual(
    expect.arrayContaining(['providers/described.ts', 'providers/cursor-agent/describe.ts']),
  );
  expect(loaded.filter((url) => !/\/(described|describe|provider-names|version)\.ts$/.test(url))).toEqual([]);
});

test('the documentation says which providers insert messages into a running turn', () => {
  const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
  const row = (start: string) => {
    const cells =
      page
        .split('\n')
        .find((line) => line.startsWith(start))
        ?.split('|') ?? [];
    return cells.slice(2, -1).map((cell) => cell.trim());
  };
  const names = row('| | claude | codex | opencode | gemini | copilot | qwen | pi | cursor-agent |');
  const inserted = names.filter((_, i) => row('| news during a turn |')[i] === 'inserted');
  expect(inserted).toEqual(described.flatMap((about) => ('steers' in about ? [about.name] : [])));
});
