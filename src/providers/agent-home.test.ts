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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { replaceInHome } from './agent-home.ts';

let home: string;
let outside: string;
beforeEach(() => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-home-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  [home, outside] = [join(directory, 'home'), join(directory, 'outside')];
  mkdirSync(home);
  mkdirSync(outside);
});

test('replaces a file, a link and a missing directory', () => {
  writeFileSync(join(outside, 'secret'), 'secret');
  symlinkSync(outside, join(home, 'a'));
  mkdirSync(join(home, 'c'));
  symlinkSync(join(outside, 'secret'), join(home, 'c/file'));
  replaceInHome(home, 'a/b', 'one');
  replaceInHome(home, 'c/file', 'two');
  expect(readFileSync(join(home, 'a/b'), 'utf8')).toBe('one');
  expect(readFileSync(join(home, 'c/file'), 'utf8')).toBe('two');
  expect(readdirSync(outside)).toEqual(['secret']);
  expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
  replaceInHome(home, 'c/file', null);
  expect(existsSync(join(home, 'c/file'))).toBe(false);
});

test('moves a directory away without looking into it', () => {
  mkdirSync(join(home, 'a/b'), { recursive: true });
  writeFileSync(join(home, 'a/b/one-of-millions'), '');
  replaceInHome(home, 'a/b', 'ours');
  expect(readFileSync(join(home, 'a/b'), 'utf8')).toBe('ours');
  const [moved = ''] = readdirSync(join(home, 'a')).filter((name) => name !== 'b');
  expect(readdirSync(join(home, 'a', moved))).toEqual(['one-of-millions']);
});
