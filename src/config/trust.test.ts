// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { examineFound, loadFound } from './trust.ts';

let directory: string;
let cwd: string;
let file: string;

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'trust-')));
  cwd = join(directory, 'repo');
  file = join(cwd, 'ctx.toml');
  for (const place of ['repo/docs', 'private']) mkdirSync(join(directory, place), { recursive: true });
  symlinkSync('../private', join(cwd, 'out'));
  symlinkSync('../private/made.db', join(cwd, 'dangling.db'));
  symlinkSync('../private/secret', join(cwd, 'logged.db-wal'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const options = () => ({ file, cwd, home: join(directory, 'home'), env: { KEY: 'sk-secret' } });

function load(text: string) {
  writeFileSync(file, text);
  return loadFound(options(), null);
}

const STORE = '[db]\npath = "own.db"\n';

describe('loadFound()', () => {
  test.each([
    ['[db]\npath = ":memory:"\n'],
    [`${STORE}[connectors.filesystem.docs]\nroot = "docs"\n`],
    [`${STORE}[registries.r]\npath = "docs"\n[vector_index]\nbackend = "auto"\n`],
    [`${STORE}[server]\nbind = "[::1]:0"\n[agents.x]\ndescription = "d"\nsystem_prompt = "costs $\${x}"\n`],
    [`${STORE}[embedding]\nprovider = "disabled"\n[limits]\nmax_depth = 2\n[channels.x]\ntopic = "t"\n`],
  ])('accepts a configuration that stays in its directory: %j', (text) => {
    expect(load(text)).toMatchObject({ trusted: false, within: cwd, config: { file } });
  });

  test.each([
    ['[agents.p]\npath = "t.lua"\n', 'run the script t.lua ([agents.p])'],
    ['[agents.script.p]\npath = "/x/t.lua"\n', 'run the script /x/t.lua ([agents.script.p])'],
    ['[connectors.script.c]\npath = "t.lua"\n', 'run the script t.lua ([connectors.script.c])'],
    ['[connectors.filesystem.s]\nroot = "~"\n', 'read '],
    ['[connectors.filesystem.s]\nroot = "docs/../out"\n', 'read '],
    ['[connectors.filesystem.s]\nroot = "docs"\nfollow_symlinks = true\n', 'follow symbolic links out of docs'],
    ['[connectors.git.g]\nurl = "https://me:pw@example.com/r.git"\n', 'fetch https://example.com/r.git with git'],
    ['[connectors.git.g]\nurl = "."\n', 'with git'],
    ['[connectors.s3.b]\nbucket = "b"\n', "read the bucket b at Amazon's us-east-1 with your credentials"],
    ['[embedding]\nprovider = "ollama"\n', 'send the texts to ollama for embeddings'],
    ['[embedding]\nprovider = "local"\n', 'fetch and run the model for embeddings'],
    ['[embedding]\nprovider = "local"\npath = "model"\n', 'run the model in '],
    ['[embedding]\napi_key = "${KEY:-none}"\n', 'use the environment variable KEY ([embedding])'],
    ['[retrieval]\nmode = "${KEY}"\n', 'use the environment variable KEY ([retrieval])'],
    ['[server]\nbind = "[::]:0"\n', 'listen on :::0'],
    ['[server]\nbind = "example.com:0"\n', 'listen on example.com:0'],
    ['[server]\norigins = ["https://a.example"]\n', 'let pages of https://a.example read what it serves'],
    ['[registries.r]\nurl = "https://me:pw@example.com/r.git"\n', 'fetch https://example.com/r.git with git'],
    ['[registries.r]\npath = "out"\n', 'read '],
    ['[connectors.git.g]\nurl = "https://x"\ninclude_globs = ["a"]\n', 'fetch https://x with git'],
    ['[sandbox]\nnetwork = ["example.com"]\n', 'let agents reach example.com'],
    ['[sandbox]\nroots = ["/"]\n', 'let agents read /'],
    ['[providers.scripted]\ncommand = "evil"\n', 'run the program evil'],
    ['[members.m]\nprogram = "evil.sh"\n', 'run the program evil.sh'],
    ['[members.m]\nworkspace = ".."\n', 'read '],
  ])('refuses %j', (text, want) => {
    expect(() => load(STORE + text)).toThrow(`is not trusted, and it wants to:\n  `);
    expect(() => load(STORE + text)).toThrow(want);
    expect(() => load(STORE + text)).not.toThrow('sk-secret');
  });

  test.each([
    ['', '/home/substrat.db'],
    ['[db]\npath = "/tmp/x.db"\n', '/tmp/x.db'],
    ['[db]\npath = "out/x.db"\n', '/repo/out/x.db'],
    ['[db]\npath = "dangling.db"\n', '/repo/dangling.db'],
    ['[db]\npath = "logged.db"\n', '/repo/logged.db'],
    ['[db]\nurl = "postgres://me:hunter2@127.0.0.1:1/x"\n', 'postgres://me@127.0.0.1:1/x'],
  ])('refuses a store outside the directory: %j', (text, store) => {
    expect(() => load(text)).toThrow(new RegExp(`(write|connect to) the store .*${store} `));
  });

  test('reports errors in a file before what it asks for', () => {
    expect(() => load(`${STORE}[chunking]\nmax_token = 1\n`)).toThrow('ctx.toml:4: unknown key "max_token"');
    expect(() => load('[db\n')).toThrow('ctx.toml:1: ');
  });

  test('compares a file with what was trusted, using the current values of variables', () => {
    writeFileSync(file, `${STORE}[embedding]\nmodel = "\${KEY}"\n[agents.p]\npath = "t.lua"\n`);
    writeFileSync(join(cwd, 't.lua'), 'one');
    const { record, wants } = examineFound(options());
    expect(wants.map(({ text }) => text)).toEqual(['use the environment variable KEY', 'run the script t.lua']);
    expect(loadFound(options(), record)).toMatchObject({
      trusted: true,
      within: null,
      config: { embedding: { model: 'sk-secret' } },
    });
    rmSync(join(cwd, 't.lua'));
    expect(() => loadFound(options(), record)).toThrow('t.lua has changed since');
    writeFileSync(file, `${STORE}[agents.p]\npath = "other.lua"\n`);
    expect(() => loadFound(options(), record)).toThrow('has changed since you trusted it on');
  });

  test('returns the content whose hash was checked, even if the file has changed since', async () => {
    writeFileSync(file, `${STORE}[agents.p]\npath = "t.lua"\n`);
    writeFileSync(join(cwd, 't.lua'), 'one');
    const { readScript } = loadFound(options(), examineFound(options()).record);
    writeFileSync(join(cwd, 't.lua'), 'two');
    expect(await readScript(join(cwd, 't.lua'))).toBe('one');
    await expect(readScript(join(cwd, 'other.lua'))).rejects.toThrow('there is no such file');
  });
});
