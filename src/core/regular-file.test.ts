import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRegularFile, readRegularText, UnreadableFile } from './regular-file.ts';

const MAX = 200_000;
let root: string;
const at = (name: string) => join(root, name);

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'regular-file-'));
  writeFileSync(at('plain'), 'hello');
  writeFileSync(at('full'), 'x'.repeat(MAX));
  writeFileSync(at('large'), 'x'.repeat(MAX + 1));
  execFileSync('mkfifo', [at('fifo')]);
  mkdirSync(at('directory'));
  mkdirSync(at('inner'));
  writeFileSync(at('inner/real'), 'inside');
  symlinkSync('real', at('inner/near'));
  symlinkSync('../plain', at('inner/out'));
  symlinkSync('plain', at('link'));
  symlinkSync('fifo', at('link-to-fifo'));
  symlinkSync('/dev/zero', at('link-to-zero'));
  symlinkSync('nowhere', at('dangling'));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('readRegularFile()', () => {
  test('reads a regular file up to its limit', () => {
    expect(readRegularText(at('plain'), { maxBytes: MAX, links: 'refuse' })).toBe('hello');
    expect(readRegularFile(at('full'), { maxBytes: MAX, links: 'refuse' })).toHaveLength(MAX);
  });

  test.each([
    ['large', 'E2BIG', `it has more than ${MAX} bytes`],
    ['fifo', 'ENOTREG', 'it is not a regular file'],
    ['directory', 'ENOTREG', 'it is not a regular file'],
    ['missing', 'ENOENT', 'it does not exist'],
    ['link', 'ELOOP', 'it is a symbolic link'],
    ['link-to-zero', 'ELOOP', 'it is a symbolic link'],
    ['dangling', 'ELOOP', 'it is a symbolic link'],
  ])('refuses %s (%s)', (name, code, message) => {
    expect(problemOf(at(name), 'refuse')).toEqual({ code, message });
  });

  test.each([
    ['link-to-fifo', 'ENOTREG'],
    ['link-to-zero', 'ENOTREG'],
    ['dangling', 'ENOENT'],
  ])('refuses %s when links are followed (%s)', (name, code) => {
    expect(problemOf(at(name), 'follow')).toMatchObject({ code });
  });

  test('follows a symlink if asked to', () => {
    expect(readRegularText(at('link'), { maxBytes: MAX, links: 'follow' })).toBe('hello');
  });

  test('follows a symlink only to a file in the given directory', () => {
    const within = { within: at('inner') };
    expect(readRegularText(at('inner/near'), { maxBytes: MAX, links: within })).toBe('inside');
    expect(problemOf(at('inner/out'), within)).toMatchObject({ code: 'EOUTSIDE' });
    symlinkSync(root, at('inner/up'));
    expect(problemOf(at('inner/up/plain'), within)).toMatchObject({ code: 'EOUTSIDE' });
  });

  test('stops reading an endless file whose reported size is 0', () => {
    // fstat reports size 0, but every read returns more.
    expect(problemOf('/proc/self/mounts', 'refuse', 8)).toMatchObject({ code: 'E2BIG' });
  });

  test('refuses a socket', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at('socket'), resolve));
    expect(problemOf(at('socket'), 'refuse')).toEqual({ code: 'ENXIO', message: 'it is not a regular file' });
    await new Promise((resolve) => server.close(resolve));
  });
});

function problemOf(path: string, links: Parameters<typeof readRegularFile>[1]['links'], maxBytes = MAX) {
  try {
    readRegularFile(path, { maxBytes, links });
  } catch (error) {
    expect(error).toBeInstanceOf(UnreadableFile);
    const { code, message } = error as UnreadableFile;
    return { code, message };
  }
  throw new Error(`${path} was read`);
}
