import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backUp, fillStore, LIMITS, makeDirectory, makeHome, restore, useStore } from './backup.testkit.ts';

const AGENT = '01a1e775-c5d3-7cc6-9eaa-e31a15200b88';

async function prepared() {
  const directory = makeDirectory();
  const home = makeHome(directory);
  const path = join(home, 'substrat.db');
  await useStore({ path }, (store) => fillStore(store, home));
  const own = join(home, 'agents', AGENT, 'home');
  mkdirSync(own, { recursive: true });
  const [file, target] = [join(directory, 'backup.tar.gz'), join(directory, 'restored')];
  return {
    directory,
    own,
    restored: join(target, 'agents', AGENT, 'home'),
    target,
    backUp: (limits = LIMITS) => backUp(file, home, { path }, limits),
    restore: () => restore(file, target, { path: join(target, 'substrat.db') }),
    file,
  };
}

test('restores files, directories and symlinks of a private home; does not follow symlinks or keep setuid bits', async () => {
  const world = await prepared();
  const deep = join(world.own, ...Array.from({ length: 12 }, (_, i) => `a long name of a directory ${i}`));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'fïle'), 'deep');
  writeFileSync(Buffer.from(`${world.own}/\xff\xfe`, 'latin1'), 'not UTF-8');
  writeFileSync(join(world.own, 'tool'), '#!/bin/sh\n');
  chmodSync(join(world.own, 'tool'), 0o4755);
  writeFileSync(join(world.directory, 'secret'), 'of the owner');
  symlinkSync(join(world.directory, 'secret'), join(world.own, 'link'));
  symlinkSync('/', join(world.own, 'root'));
  symlinkSync('x'.repeat(300), join(world.own, 'dangling'));
  execFileSync('mkfifo', [join(world.own, 'pipe')]);
  const manifest = await world.backUp();
  expect(manifest.skipped).toEqual({
    count: 1,
    listed: [{ path: `agents/${AGENT}/home/pipe`, reason: expect.stringContaining('pipe') }],
  });
  expect(manifest.homes[AGENT]?.bytes).toBe('deep'.length + 'not UTF-8'.length + '#!/bin/sh\n'.length);

  await world.restore();
  const { restored } = world;
  expect(readFileSync(join(deep.replace(world.own, restored), 'fïle'), 'utf8')).toBe('deep');
  expect(readFileSync(Buffer.from(`${restored}/\xff\xfe`, 'latin1'), 'utf8')).toBe('not UTF-8');
  expect(statSync(join(restored, 'tool')).mode & 0o7777).toBe(0o755);
  expect(readlinkSync(join(restored, 'link'))).toBe(join(world.directory, 'secret'));
  expect(lstatSync(join(restored, 'root')).isSymbolicLink()).toBe(true);
  expect(readlinkSync(join(restored, 'dangling'))).toBe('x'.repeat(300));
  expect(readFileSync(join(world.target, 'token'), 'utf8')).toBe('secret\n');
  expect(statSync(join(world.target, 'token')).mode & 0o777).toBe(0o600);
});

test('skips and lists files that are too large or too many', async () => {
  const world = await prepared();
  for (const name of ['a', 'b', 'c']) writeFileSync(join(world.own, name), 'x'.repeat(100));
  writeFileSync(join(world.own, 'large'), 'x'.repeat(1_000));
  const manifest = await world.backUp({ maxFileBytes: 999, maxHomeBytes: 250, maxEntries: 1_000 });
  const listed = manifest.skipped.listed.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  expect(listed).toEqual(['c', 'large']);
  expect(manifest.skipped.listed[1]?.reason).toContain('max_file_mb');
  expect(manifest.homes[AGENT]).toEqual({ entries: 3, bytes: 200 });
});

test("a directory that is swapped for a symlink while it is read exposes nothing of the symlink's target", async () => {
  const { homeFiles } = await import('./home-files.ts');
  const world = await prepared();
  mkdirSync(join(world.own, 'dir'));
  writeFileSync(join(world.own, 'dir', 'mine'), 'mine');
  mkdirSync(join(world.directory, 'owner'));
  writeFileSync(join(world.directory, 'owner', 'mine'), 'the owner’s');
  const contents: string[] = [];
  for (const { entry, pieces } of homeFiles(world.own, 'home', LIMITS, () => {})) {
    if (entry.path === 'home/dir') {
      renameSync(join(world.own, 'dir'), join(world.own, 'gone'));
      symlinkSync(join(world.directory, 'owner'), join(world.own, 'dir'));
    }
    contents.push(Buffer.concat([...pieces]).toString());
  }
  expect(contents.filter(Boolean)).toEqual(['mine']);
});
