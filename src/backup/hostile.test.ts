import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { NEWEST_SCHEMA } from '../store/migrate.ts';
import { createArchive } from './archive-writer.ts';
import { backUp, fillStore, makeDirectory, makeHome, restore, useStore } from './backup.testkit.ts';
import { createManifest, type Manifest } from './manifest.ts';
import type { Entry } from './tar.ts';

const AGENT = '01a1e775-c5d3-7cc6-9eaa-e31a15200b88';
const HOME = `agents/${AGENT}/home`;
type Part = readonly [Partial<Entry> & { path: string }, string?];

const file = (path: string, content = 'evil'): Part => [{ path }, content];
const link = (path: string, target: string): Part => [{ path, type: 'link', link: target }];
const directory = (path: string): Part => [{ path, type: 'directory' }];

/** An archive with a matching manifest, as an attacker could build it. */
async function forge(place: string, parts: readonly Part[], change: Partial<Manifest> = {}): Promise<string> {
  const archive = await createArchive(place);
  const homes: Manifest['homes'] = {};
  const tables: Manifest['tables'] = {};
  for (const [entry, content = ''] of parts) {
    const bytes = Buffer.from(content);
    const whole: Entry = { type: 'file', mode: 0o600, mtime: 1, link: '', size: bytes.length, ...entry };
    await archive.add(whole, bytes);
    const [, table] = /^tables\/(\w+)\//.exec(whole.path) ?? [];
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (table) tables[table] = { rows: content.split('\n').length - 1, sha256 };
    if (!whole.path.startsWith(HOME)) continue;
    const { entries, bytes: size } = homes[AGENT] ?? { entries: 0, bytes: 0 };
    homes[AGENT] = { entries: entries + 1, bytes: size + bytes.length };
  }
  const manifest = createManifest({
    substrat: '0.0.0',
    createdAt: 'then',
    engine: 'sqlite',
    schemaVersion: NEWEST_SCHEMA,
    nodeId: 'n',
    home: '/nowhere',
    tables,
    counters: [],
    homes,
    workspaces: [],
    skipped: { count: 0, listed: [] },
    archive: archive.digest(),
    ...change,
  });
  const text = Buffer.from(JSON.stringify(manifest));
  await archive.add({ type: 'file', path: 'manifest.json', mode: 0o600, size: text.length, mtime: 1, link: '' }, text);
  await archive.close();
  return place;
}

/** Expects a one-sentence error, and no change to the home or anything next to it. */
async function refused(archive: string, around: string): Promise<string> {
  const home = join(around, 'home');
  mkdirSync(home, { recursive: true });
  const before = listing(around);
  const error: Error = await restore(archive, home, { path: join(home, 'substrat.db') }).then(
    () => expect.unreachable(`${archive} was restored`),
    (reason) => reason,
  );
  expect(error).toMatchObject({ name: 'SubstratError' });
  expect(listing(around)).toEqual(before);
  return error.message;
}

function listing(directory: string): string[] {
  return (readdirSync(directory, { recursive: true }) as string[]).sort();
}

describe('an archive that would write outside the home is refused', () => {
  test.each<[string, readonly Part[]]>([
    ['an absolute path', [file('/tmp/evil')]],
    ['a path with ..', [file(`${HOME}/../../../evil`)]],
    ['.. at its end', [directory(`${HOME}/x/..`)]],
    ['a file that is not part of a backup', [file('agents/evil/home/x')]],
    ['a file in the home itself', [file('daemon.sock')]],
    ['a table that is a link', [link('tables/messages/000001.jsonl', '/etc/passwd')]],
    ['a link in the place of a private home', [link(HOME, '/tmp')]],
    ['an empty step', [file(`${HOME}//evil`)]],
    ['NUL in a name that is long enough for a record of its own', [file(`${HOME}/${'x'.repeat(100)}\0evil`)]],
    ['the same file twice', [directory(HOME), file(`${HOME}/x`), file(`${HOME}/x`)]],
    ['a file in the place of a directory', [directory(HOME), file(`${HOME}/x`), file(`${HOME}/x/y`)]],
  ])('%s', async (_, parts) => {
    const around = makeDirectory();
    await refused(await forge(join(around, 'evil.tar.gz'), parts), around);
  });

  test('a file behind a symlink, and a symlink behind a symlink', async () => {
    const around = makeDirectory();
    const outside = join(around, 'outside');
    mkdirSync(outside);
    const behind = [directory(HOME), link(`${HOME}/x`, outside)];
    const home = join(around, 'home');
    // The file is written before the symlink, so the symlink's path is taken.
    expect(
      await refused(await forge(join(around, '1.tar.gz'), [...behind, file(`${HOME}/x/evil`)]), around),
    ).toBeTruthy();
    expect(
      await refused(await forge(join(around, '2.tar.gz'), [...behind, link(`${HOME}/x/evil`, '/etc')]), around),
    ).toMatch(/is behind a symbolic link/);
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(join(home, 'agents'))).toBe(false);
  });

  test('rows of unknown tables and columns', async () => {
    const around = makeDirectory();
    const rows = (table: string, line: string): Part => file(`tables/${table}/000001.jsonl`, `${line}\n`);
    const bad: [string, Part, RegExp][] = [
      ['table', rows('sqlite_sequence', '{"name":"chunks","seq":1}'), /table that its schema does not have/],
      ['column', rows('nodes', '{"id":"a","evil":1}'), /column that its schema does not have/],
      ['value', rows('nodes', '{"id":{"evil":1}}'), /value that cannot be stored/],
      ['line', rows('nodes', '[1]'), /not a row/],
      [
        'reference',
        rows('tokens', '{"id":"a","hash":"h","participant_id":"none","label":"","kind":"api","created_at":1}'),
        /refers to/,
      ],
    ];
    for (const [name, part, message] of bad) {
      expect(await refused(await forge(join(around, `${name}.tar.gz`), [part]), around)).toMatch(message);
    }
  });
});

describe('an incomplete backup', () => {
  test('is refused: truncated, modified, from a newer Substrat, or not a backup', async () => {
    const around = makeDirectory();
    const source = makeHome(around, 'source');
    const path = join(source, 'substrat.db');
    await useStore({ path }, (store) => fillStore(store, source));
    const good = join(around, 'good.tar.gz');
    await backUp(good, source, { path });
    const bytes = readFileSync(good);
    const write = (name: string, content: Uint8Array) => {
      writeFileSync(join(around, name), content);
      return join(around, name);
    };
    for (const part of [0.1, 0.5, 0.99]) {
      const cut = write(`cut-${part}`, bytes);
      truncateSync(cut, Math.floor(bytes.length * part));
      expect(await refused(cut, around)).toMatch(/is not a complete Substrat backup: .* Nothing was changed\./);
    }
    const tar = gunzipSync(bytes);
    const at = tar.indexOf('The deployment failed');
    expect(at).toBeGreaterThan(0);
    tar.write('XXX', at);
    expect(await refused(write('changed', gzipSync(tar)), around)).toMatch(/checksum is wrong/);
    // The end of the tar without its manifest.
    const manifest = tar.indexOf('manifest.json');
    expect(
      await refused(
        write('headless', gzipSync(Buffer.concat([tar.subarray(0, manifest), Buffer.alloc(1024)]))),
        around,
      ),
    ).toMatch(/does not have a manifest/);
    expect(await refused(write('other', Buffer.from('Dear diary')), around)).toMatch(/not a complete Substrat backup/);
    expect(await refused(join(around, 'none'), around)).toMatch(/cannot be read/);
    const newer = await forge(join(around, 'newer.tar.gz'), [], { schemaVersion: 999 });
    expect(await refused(newer, around)).toMatch(/schema version 999; this Substrat supports up to/);
  });

  test('is not mixed with existing files', async () => {
    const around = makeDirectory();
    const source = makeHome(around, 'source');
    const path = join(source, 'substrat.db');
    await useStore({ path }, (store) => fillStore(store, source));
    const good = join(around, 'good.tar.gz');
    await backUp(good, source, { path });
    const home = join(around, 'home');
    mkdirSync(join(home, 'agents', 'somebody'), { recursive: true });
    writeFileSync(join(home, 'token'), 'old');
    symlinkSync('/etc', join(home, 'agents', 'somebody', 'x'));
    expect(await refused(good, around)).toMatch(/is not empty \(token, agents\)\. Set SUBSTRAT_HOME .* --force/);
    const { before } = await restore(good, home, { path: join(home, 'substrat.db') }, true);
    expect(readFileSync(join(before as string, 'token'), 'utf8')).toBe('old');
    expect(readFileSync(join(home, 'token'), 'utf8')).toBe('secret\n');
    expect(readdirSync(join(before as string, 'agents'))).toEqual(['somebody']);
    expect(readdirSync(home).sort()).toEqual(expect.arrayContaining(['config.toml', 'node', 'substrat.db', 'token']));
    expect(existsSync(join(home, 'restoring'))).toBe(false);
  });
});
