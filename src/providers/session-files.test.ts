import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { described } from './described.ts';
import { readSession, writeSession } from './session-files.ts';

describe('the files of a session', () => {
  let directory: string;
  let home: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'session-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    home = join(directory, 'home');
    mkdirSync(join(home, '.p/sessions/deep'), { recursive: true });
    writeFileSync(join(home, '.p/sessions/a.jsonl'), 'one');
    writeFileSync(join(home, '.p/sessions/deep/b.db'), Buffer.from([0, 255]), { mode: 0o4755 });
    writeFileSync(join(home, '.p/login.json'), 'secret');
    writeFileSync(join(directory, 'key'), 'the key of the person');
  });
  const textsOf = (paths: readonly string[]) =>
    Object.fromEntries(
      readSession(home, paths).map(({ path, bytes }) => [path, Buffer.from(bytes).toString('latin1')]),
    );

  test('are those of the listed paths, and come back into a new home', () => {
    const files = { '.p/sessions/a.jsonl': 'one', '.p/sessions/deep/b.db': '\0ÿ' };
    expect(textsOf(['.p/sessions'])).toEqual(files);
    expect(textsOf(['.p/sessions/a.jsonl', '.p/none', '.q/none'])).toEqual({ '.p/sessions/a.jsonl': 'one' });
    const restored = join(directory, 'new/home');
    writeSession(restored, readSession(home, ['.p/sessions']));
    expect(readFileSync(join(restored, '.p/sessions/deep/b.db'))).toEqual(Buffer.from([0, 255]));
    expect(statSync(join(restored, '.p/sessions/deep/b.db')).mode & 0o7777).toBe(0o600);
    expect(existsSync(join(restored, '.p/login.json'))).toBe(false);
  });

  test('are never what a symlink leads to, wherever it is, and no pipe', () => {
    symlinkSync(join(directory, 'key'), join(home, '.p/sessions/file'));
    symlinkSync(directory, join(home, '.p/sessions/directory'));
    symlinkSync(directory, join(home, '.linked'));
    execFileSync('mkfifo', [join(home, '.p/sessions/pipe')]);
    expect(Object.keys(textsOf(['.p/sessions']))).toEqual(['.p/sessions/a.jsonl', '.p/sessions/deep/b.db']);
    expect(textsOf(['.linked', '.linked/key', '.p/sessions/file', '.p/sessions/pipe'])).toEqual({});
    rmSync(join(home, '.p'), { recursive: true });
    symlinkSync(directory, join(home, '.p'));
    expect(textsOf(['.p/key'])).toEqual({});
  });

  test('have a limit of directories and links, too: to look at them takes time', () => {
    for (let n = 0; n < 10; n += 1) mkdirSync(join(home, `.p/sessions/empty-${n}`));
    expect(() => readSession(home, ['.p/sessions'], { maxFiles: 4 })).toThrow('more than 4 files');
    expect(readSession(home, ['.p/sessions'], { maxFiles: 20 })).toHaveLength(2);
  });

  test('have a limit of bytes and of files', () => {
    expect(readSession(home, ['.p/sessions'], { maxBytes: 5, maxFiles: 2 })).toHaveLength(2);
    const refused = { code: 'too_large' };
    expect(() => readSession(home, ['.p/sessions'], { maxBytes: 4 })).toThrow(expect.objectContaining(refused));
    expect(() => readSession(home, ['.p/sessions'], { maxFiles: 1 })).toThrow(expect.objectContaining(refused));
  });

  test.each(['../key', '/key', 'a/../../key', '.p//x', './x'])('are not written to %s', (path) => {
    const file = { path, bytes: Buffer.from('forged') };
    expect(() => writeSession(join(directory, 'new'), [file])).toThrow('outside the home');
    expect(readFileSync(join(directory, 'key'), 'utf8')).toBe('the key of the person');
  });

  test.each(described.map((about) => [about.name, about] as const))('of %s contain no login', (_, about) => {
    const { sessionPaths, login } = about as typeof about & { login?: { file?: { directory: string; name: string } } };
    const file = login?.file && `${login.file.directory}/${login.file.name}`;
    for (const path of sessionPaths) expect(`${file}/`.startsWith(`${path}/`)).toBe(false);
  });
});
