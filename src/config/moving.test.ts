// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALIASES } from './aliases.ts';
import { failureText, load } from './config.testkit.ts';
import { DAEMON_SECTIONS, loadConfig } from './config.ts';
import { explainConfig } from './explain.ts';

describe('the keys of Context Harness', () => {
  test('are names of ours', () => {
    const { warnings, ...config } = load(`
[embedding]
dims = 768
batch_size = 64
max_retries = 5
timeout_secs = 30
[retrieval]
candidate_k_keyword = 90
candidate_k_vector = 40
group_by = "document"
doc_agg = "max"
[connectors.filesystem.a]
root = "."
include_globs = ["**/*.md"]
exclude_globs = []
max_extract_bytes = 50_000_000
[connectors.git.b]
url = "https://example.com/b.git"
include_globs = ["docs/**"]
[connectors.s3.c]
bucket = "c"
exclude_globs = ["tmp/**"]
[registries.community]
url = "https://example.com/r.git"
branch = "main"
path = "~/r"
readonly = true
auto_update = false
`);
    expect(config).toMatchObject({
      embedding: { dimension: 768, batch: 64, retries: 5, timeoutMs: 30_000 },
      retrieval: { candidates: 90 },
      connectors: {
        filesystem: { a: { include: ['**/*.md'], exclude: [], maxFileMb: 48 } },
        git: { b: { include: ['docs/**'] } },
        s3: { c: { exclude: ['tmp/**'] } },
      },
      registries: { community: { url: 'https://example.com/r.git', branch: 'main' } },
    });
    expect(warnings).toEqual([]);
  });

  test('warn where they have no effect, once each', () => {
    const { warnings } = load(`
[retrieval]
group_by = "chunk"
doc_agg = "mean"
max_chunks_per_doc = 3
[vector_index]
backend = "auto"
path = "auto"
[connectors.git.b]
url = "https://example.com/b.git"
cache_dir = ".cache"
[registries.r]
url = "https://example.com/r.git"
auto_update = true
`);
    expect(warnings.toSorted()).toEqual([
      'substrat.toml:11: [connectors.git.b] cache_dir has no effect: clones are stored in the home.',
      'substrat.toml:14: [registries.r] auto_update has no effect: run `ctx registry update`.',
      'substrat.toml:3: [retrieval] group_by has no effect: results are documents.',
      'substrat.toml:4: [retrieval] doc_agg has no effect: the best chunk ranks a document.',
      'substrat.toml:5: [retrieval] max_chunks_per_doc has no effect: a result shows the best passages of its document.',
      'substrat.toml:6: [vector_index] has no effect: vectors are searched in the store.',
    ]);
  });

  test('are all in docs/moving.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/moving.md'), 'utf8');
    for (const { from } of ALIASES) expect(page).toMatch(new RegExp(`\\b${from.split('.').at(-1)}\\b`));
  });

  test('belong to a script if they are in its table', () => {
    const { connectors } = load('[connectors.script.a]\npath = "a.lua"\ninclude_globs = ["x"]\n');
    expect(connectors.script.a).toMatchObject({ include_globs: ['x'] });
  });

  test('are reported at their own line', () => {
    expect(failureText('[embedding]\nprovider = "local"\ndims = "many"\ntimeout_secs = "soon"\n')).toBe(
      [
        'substrat.toml:3: [embedding] dimension must be a whole number from 1 to 16384; got "many"',
        'substrat.toml:4: [embedding] timeout must be a duration such as "30m" (units: ms, s, m, h, d); got "soon"',
      ].join('\n'),
    );
    expect(failureText('[embedding]\ndims = 1\ndimension = 2\n')).toBe(
      'substrat.toml:2: [embedding] dims is an old name of "dimension", which is set too; remove one',
    );
  });

  test('are shown by their new name and with their own line', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'substrat-moving-'));
    writeFileSync(join(cwd, 'c.toml'), '[embedding]\n\ndims = 5\n');
    const { settings } = explainConfig({ file: 'c.toml', cwd, home: join(cwd, 'home'), env: {} });
    expect(settings).toContainEqual({ key: 'embedding.dimension', value: 5, origin: 'c.toml:3' });
    rmSync(cwd, { recursive: true });
  });
});

describe('a variable that is not set', () => {
  test.each([
    ['[tools.script.jira]\npath = "a.lua"\ntoken = "${T}"', '[tools.script.jira]'],
    ['[connectors.git.b]\nurl = "https://${T}@example.com/b"', '[connectors.git.b]'],
    ['[agents.inline.a]\ndescription = "d"\nsystem_prompt = "${T}"', '[agents.inline.a]'],
    ['[agents.b]\ndescription = "d"\nsystem_prompt = "${T}"', '[agents.b]'],
    ['[embedding]\nprovider = "openai"\napi_key = "${T}"', '[embedding]'],
    ['[notify]\nurl = "https://example.com"\nsecret = "${T}"', '[notify]'],
    ['[registries.r]\nurl = "${T}"', '[registries.r]'],
  ])('disables only what uses it: %s', (source, table) => {
    const { warnings, disabled } = load(`${source}\n[tools.script.other]\npath = "b.lua"\n`);
    expect(disabled).toMatchObject([{ table, variables: ['T'] }]);
    expect(warnings).toEqual([
      expect.stringMatching(/^substrat\.toml:1: .* is disabled: the environment variable T is not set\.$/),
    ]);
    const { tools, disabled: none } = load(`${source}\n`, { T: 'https://example.com/r' });
    expect([tools.length, none]).toEqual([table.includes('jira') ? 1 : 0, []]);
  });

  test('leaves the rest in use', () => {
    const { tools, embedding } = load(
      '[embedding]\nprovider = "openai"\napi_key = "${A}"\n[tools.script.a]\npath = "a.lua"\nk = "${A}${B}"\n[tools.script.b]\npath = "b.lua"',
    );
    expect(tools.map(({ name }) => name)).toEqual(['b']);
    expect(embedding.provider).toBe('disabled');
  });

  test('is an error where the rest would do something else', () => {
    for (const source of ['[db]\nurl = "${T}"', '[server]\nbind = "${T}"', '[sandbox]\nnetwork = ["${T}"]'])
      expect(failureText(source)).toContain('needs the environment variable T, which is not set');
  });

  test('of a disabled persona does not break its members', () => {
    const { members } = load(
      '[agents.inline.p]\ndescription = "d"\nsystem_prompt = "${T}"\n[members.m]\nprovider = "external"\npersona = "p"\n',
    );
    expect(members).toMatchObject([{ name: 'm', persona: 'p' }]);
  });

  test('does not matter to a program that does not use the section', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'substrat-moving-'));
    writeFileSync(join(cwd, 'c.toml'), '[members.m]\nprovider = "external"\ninstructions = "${T}"\n');
    const options = { file: 'c.toml', cwd, home: join(cwd, 'home'), env: {} };
    expect(() => loadConfig(options)).toThrow('needs the environment variable T');
    expect(loadConfig({ ...options, unused: DAEMON_SECTIONS }).warnings).toEqual([]);
    rmSync(cwd, { recursive: true });
  });
});

test('a relative path that was meant from the working directory is explained', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'substrat-moving-'));
  for (const name of ['config', 'docs', 'here', 'config/here']) mkdirSync(join(cwd, name));
  writeFileSync(
    join(cwd, 'config/ctx.toml'),
    ['docs', 'here', 'nowhere'].map((name) => `[connectors.filesystem.${name}]\nroot = "./${name}"\n`).join(''),
  );
  const { warnings } = loadConfig({ file: 'config/ctx.toml', cwd, home: join(cwd, 'home'), env: {} });
  expect(warnings).toEqual([
    `config/ctx.toml:2: relative paths start at the configuration's directory ${cwd}/config, not at the working directory. Move the file to ${cwd}, or write [connectors.filesystem.docs] root = "../docs".`,
  ]);
  rmSync(cwd, { recursive: true });
});
