import { execFileSync } from 'node:child_process';
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
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gitTraps } from '../../../test/helpers/git-traps.ts';
import type { Connector, Item } from '../connector.ts';
import { type GitOptions, gitConnector } from './git.ts';
import { webLink } from './web-link.ts';

let work: string;
let repository: string;
let connectors: Connector[];

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'substrat-git-'));
  repository = join(work, 'repository');
  mkdirSync(repository);
  git('init', '--quiet', '--initial-branch=main');
  connectors = [];
});
afterEach(async () => {
  for (const connector of connectors) await connector.close();
  rmSync(work, { recursive: true });
});

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: repository, encoding: 'utf8' });
}

function commit(files: Record<string, string | null>, author: string, at: string): void {
  for (const [path, text] of Object.entries(files)) {
    const full = join(repository, path);
    mkdirSync(dirname(full), { recursive: true });
    if (text === null) rmSync(full);
    else writeFileSync(full, text);
  }
  git('add', '--all');
  const env = {
    ...process.env,
    GIT_AUTHOR_DATE: at,
    GIT_COMMITTER_DATE: at,
    GIT_AUTHOR_NAME: author,
    GIT_AUTHOR_EMAIL: 'a@x',
    GIT_COMMITTER_NAME: 'c',
    GIT_COMMITTER_EMAIL: 'c@x',
  };
  execFileSync('git', ['commit', '--quiet', '-m', 'change'], { cwd: repository, env });
}

function open(change: Partial<GitOptions> = {}): Connector {
  const rest = { branch: null, root: '', shallow: false, include: ['**'], exclude: [], tags: [], maxBytes: 1000 };
  const connector = gitConnector({
    source: 'git:test',
    url: repository,
    directory: join(work, 'cache'),
    ...rest,
    ...change,
  });
  connectors.push(connector);
  return connector;
}

async function list(connector: Connector, checkpoint: string | null = null): Promise<Item[]> {
  const found: Item[] = [];
  const listing = { checkpoint, signal: new AbortController().signal, onUnlisted: () => {} };
  for await (const items of connector.list(listing)) found.push(...items);
  return found.sort((a, b) => (a.sourceId < b.sourceId ? -1 : 1));
}

async function readAll(connector: Connector, checkpoint: string | null = null) {
  const read = [];
  for (const item of await list(connector, checkpoint)) {
    const { bytes, author, updatedAt, createdAt } = (await connector.read(item)) ?? {};
    read.push([item.sourceId, bytes?.toString(), author, iso(updatedAt), iso(createdAt)]);
  }
  return read;
}

const iso = (ms: number | null | undefined) => (ms ? new Date(ms).toISOString().slice(0, 10) : ms);

describe('a repository', () => {
  test('lists every file of the branch, with the author and time of its last change', async () => {
    commit({ 'a.md': 'one', 'docs/b.md': 'two' }, 'Ann', '2026-01-01T00:00:00Z');
    commit({ 'a.md': 'changed', 'docs/ä "q".md': 'three' }, 'Bob', '2026-02-01T00:00:00Z');
    writeFileSync(join(repository, 'uncommitted.md'), 'x');
    expect(await readAll(open())).toEqual([
      ['a.md', 'changed', 'Bob', '2026-02-01', '2026-01-01'],
      ['docs/b.md', 'two', 'Ann', '2026-01-01', '2026-01-01'],
      ['docs/ä "q".md', 'three', 'Bob', '2026-02-01', '2026-02-01'],
    ]);
  });

  test('is cloned once, then fetched; unchanged files keep their versions', async () => {
    commit({ 'a.md': 'one', 'b.md': 'two', 'c.md': 'three' }, 'Ann', '2026-01-01T00:00:00Z');
    const first = open();
    const before = await list(first);
    commit({ 'b.md': 'new', 'c.md': null }, 'Bob', '2026-02-01T00:00:00Z');
    const second = open();
    const after = await list(second, first.checkpoint());
    expect(after.map(({ sourceId }) => sourceId)).toEqual(['a.md', 'b.md']);
    expect(after[0]).toEqual(before[0]);
    expect(after[1]?.version).not.toBe(before[1]?.version);
    expect(await second.read(after[1] as Item)).toMatchObject({ author: 'Bob', bytes: Buffer.from('new') });
    expect(await second.read(after[0] as Item)).toMatchObject({ author: 'Ann' });
  });

  test('can be limited to a directory, globs and a branch', async () => {
    commit({ 'a.md': 'x', 'docs/b.md': 'x', 'docs/c.txt': 'x', 'docsy/d.md': 'x' }, 'Ann', '2026-01-01T00:00:00Z');
    git('checkout', '--quiet', '-b', 'other');
    commit({ 'docs/e.md': 'x' }, 'Ann', '2026-01-02T00:00:00Z');
    const ids = async (change: Partial<GitOptions>) => (await list(open(change))).map(({ sourceId }) => sourceId);
    expect(await ids({ branch: 'main', root: 'docs/', include: ['*.md'] })).toEqual(['docs/b.md']);
    expect(await ids({ branch: 'other', root: './docs' })).toEqual(['docs/b.md', 'docs/c.txt', 'docs/e.md']);
    await expect(ids({ branch: 'none' })).rejects.toThrow(/git fetch failed: .*none/);
  });

  test('can be cloned shallow and completed later', async () => {
    commit({ 'a.md': 'x' }, 'Ann', '2026-01-01T00:00:00Z');
    commit({ 'b.md': 'x' }, 'Bob', '2026-02-01T00:00:00Z');
    const url = `file://${repository}`;
    expect((await readAll(open({ url, shallow: true }))).map(([, , author]) => author)).toEqual(['Bob', 'Bob']);
    expect((await readAll(open({ url }))).map(([, , author]) => author)).toEqual(['Ann', 'Bob']);
  });

  test('is read again after its history was rewritten', async () => {
    commit({ 'a.md': 'x' }, 'Ann', '2026-01-01T00:00:00Z');
    const first = open();
    await list(first);
    git('-c', 'user.name=c', '-c', 'user.email=c@x', 'commit', '--quiet', '--amend', '--no-edit', '--author=Eve <e@x>');
    commit({ 'b.md': 'y' }, 'Eve', '2026-02-01T00:00:00Z');
    expect((await readAll(open(), first.checkpoint())).map(([path, , author]) => [path, author])).toEqual([
      ['a.md', 'Eve'],
      ['b.md', 'Eve'],
    ]);
  });

  test('executes nothing and skips symlinks', async () => {
    symlinkSync('/etc/passwd', join(repository, 'link.md'));
    commit({ 'a.md': 'x', '.gitattributes': '* filter=evil' }, 'Ann', '2026-01-01T00:00:00Z');
    expect((await list(open())).map(({ sourceId }) => sourceId)).toEqual(['.gitattributes', 'a.md']);
    await expect(list(open({ url: `ext::touch ${join(work, 'evil')}`, directory: join(work, 'x') }))).rejects.toThrow(
      /not allowed/,
    );
    expect(existsSync(join(work, 'evil'))).toBe(false);
  });

  test('fails without showing or storing credentials if it cannot be reached', async () => {
    const url = 'http://user:hunter2@127.0.0.1:9/r.git';
    const failure = await list(open({ url })).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(Error);
    expect((failure as Error).message).toMatch(/git ls-remote failed: .*127\.0\.0\.1/);
    expect((failure as Error).message).not.toContain('hunter2');
    const files = readdirSync(join(work, 'cache'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(readFileSync(join(file.parentPath, file.name), 'utf8')).not.toContain('hunter2');
  });
});

test.each([
  ['https://github.com/acme/platform.git', 'https://github.com/acme/platform/blob/main/docs/a%20b.md'],
  ['https://user:token@github.com/acme/platform', 'https://github.com/acme/platform/blob/main/docs/a%20b.md'],
  ['git@github.com:acme/platform.git', 'https://github.com/acme/platform/blob/main/docs/a%20b.md'],
  ['ssh://git@gitlab.acme.org:2222/g/p.git', 'https://gitlab.acme.org/g/p/-/blob/main/docs/a%20b.md'],
  ['https://bitbucket.org/acme/p.git', 'https://bitbucket.org/acme/p/src/main/docs/a%20b.md'],
  ['/srv/git/p.git', null],
  ['file:///srv/git/p.git', null],
])('the web link of a file in %s', (url, expected) => {
  expect(webLink(url, 'main', 'docs/a b.md')).toBe(expected);
});

test.each(Object.entries(gitTraps))('%s of a repository that is fetched is not executed', async (_, trap) => {
  commit({ page: 'one\n' }, 'Anna', '2026-01-01T00:00:00Z');
  const mark = join(work, 'executed');
  trap.set(repository, `touch ${mark}`);
  const found = await list(open());
  expect(found.map(({ sourceId }) => sourceId)).toEqual(['page']);
  expect(existsSync(mark)).toBe(false);
});
