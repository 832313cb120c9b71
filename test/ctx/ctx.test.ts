// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ctxJson, ctxLauncher, runCtx } from '../helpers/ctx.ts';
import { S3_KEYS, startS3 } from '../helpers/s3.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-'));
  mkdirSync(join(directory, 'docs'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function configure(text: string): void {
  writeFileSync(join(directory, 'ctx.toml'), `[server]\nbind = "127.0.0.1:0"\n${text}`);
}

function write(name: string, text: string): void {
  writeFileSync(join(directory, 'docs', name), text);
}

const DOCS = '[db]\npath = "data/ctx.db"\n[connectors.filesystem.docs]\nroot = "docs"\ntags = ["t"]\n';

interface Results {
  readonly results: readonly { readonly id: string; readonly source_id: string; readonly score: number }[];
}

describe('from nothing', () => {
  test('init, sync, search, get, sources, stats, export', async () => {
    const made = await ctxJson<{ config: string; created: boolean }>(directory, 'init');
    expect(made).toMatchObject({ config: join(directory, 'ctx.toml'), created: true });
    expect(await ctxJson(directory, 'init')).toMatchObject({ created: false });
    chmodSync(join(directory, 'home'), 0o755);
    await ctxJson(directory, 'stats');
    expect(statSync(join(directory, 'home')).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'data/ctx.sqlite')).mode & 0o777).toBe(0o600);
    write('deploy.md', '# Deploying\n\nPush the green button.\n');
    write('other.md', '# Other\n\nNothing of the kind.\n');

    const { code, stdout, stderr } = await runCtx(directory, 'sync');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe('filesystem:docs: 2 seen, 2 indexed (2 chunks), 0 removed, 0 unchanged, 0 skipped\n');

    const { results } = await ctxJson<Results>(directory, 'search', 'green button');
    expect(results[0]).toEqual({
      id: expect.any(String),
      score: expect.any(Number),
      title: 'Deploying',
      source: 'filesystem:docs',
      source_id: 'docs/deploy.md',
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      snippet: expect.stringContaining('green button'),
      source_url: expect.stringMatching(/^file:.*deploy\.md$/),
    });
    expect((await runCtx(directory, 'search', 'green')).stdout).toContain('1. Deploying');

    const document = await ctxJson<{ chunks: object[] }>(directory, 'get', results[0]?.id as string);
    expect(Object.keys(document).sort()).toEqual(
      'author body chunks content_type created_at id metadata source source_id source_url title updated_at'.split(' '),
    );
    expect(document.chunks).toEqual([{ index: 0, text: '# Deploying\n\nPush the green button.' }]);
    expect(await ctxJson(directory, 'sources')).toEqual({
      sources: [{ name: 'filesystem:docs', configured: true, healthy: true, notes: null }],
    });
    expect(await ctxJson(directory, 'stats')).toMatchObject({ documents: 2, chunks: 2, sources: [{ documents: 2 }] });
    const lines = (await runCtx(directory, 'export')).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).source_id)).toEqual(['docs/deploy.md', 'docs/other.md']);
  });
});

describe('sync', () => {
  test('syncs all sources, a type, or one; an unknown one is an error that lists the sources', async () => {
    configure(`${DOCS}[connectors.filesystem.more]\nroot = "docs"\n`);
    write('a.md', 'text');
    const names = async (...args: string[]) =>
      (await ctxJson<{ sources: { name: string }[] }>(directory, 'sync', ...args)).sources.map(({ name }) => name);
    expect(await names('all')).toEqual(['filesystem:docs', 'filesystem:more']);
    expect(await names('filesystem')).toEqual(['filesystem:docs', 'filesystem:more']);
    expect(await names('filesystem:more', '--full')).toEqual(['filesystem:more']);
    const { code, stderr } = await runCtx(directory, 'sync', 'git:x');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'ctx: There is no source "git:x". Sources: filesystem:docs, filesystem:more.\n',
    });
  });

  test('explains how to begin if nothing is configured', async () => {
    const none = await runCtx(directory, 'sync');
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run `ctx init` to create a configuration'),
    });
    configure('');
    const empty = await runCtx(directory, 'sync');
    expect(empty).toMatchObject({ code: 1, stderr: expect.stringMatching(/No sources .* add one to .*\.toml\.\n$/) });
  });

  test('--watch reports that there is nothing to watch', async () => {
    configure(DOCS);
    const { code, stderr } = await runCtx(directory, 'sync', '--watch');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'ctx: Nothing to watch: no selected source has `watch = true`.\n',
    });
  });

  test('continues after a failed source, reports skipped documents, and exits with 1', async () => {
    configure(`${DOCS}[connectors.filesystem.absent]\nroot = "nowhere"\n`);
    write('a.md', 'text');
    write('b.pdf', 'broken');
    const { code, stdout, stderr } = await runCtx(directory, 'sync');
    expect(code).toBe(1);
    expect(stdout).toBe('filesystem:docs: 2 seen, 1 indexed (1 chunk), 0 removed, 0 unchanged, 1 skipped\n');
    expect(stderr).toMatch(/filesystem:docs: skipped b\.pdf: it cannot be read/);
    expect(stderr).toMatch(/ctx: filesystem:absent: .*nowhere cannot be read: ENOENT/);
    const { sources } = await ctxJson<{ sources: object[] }>(directory, 'sources');
    expect(sources).toMatchObject([
      { name: 'filesystem:absent', healthy: false },
      { name: 'filesystem:docs', healthy: true, notes: '1 skipped' },
    ]);
  });

  test('runs next to a daemon on the same store', async () => {
    configure(`[sandbox]\nmode = "none"\n[connectors.filesystem.docs]\nroot = "docs"\n`);
    for (let i = 0; i < 300; i += 1) write(`d${i}.md`, `# ${i}\n\ntext of ${i}`);
    const home = join(directory, 'home');
    const daemon = await startDaemonProcess({ home, config: join(directory, 'ctx.toml') });
    try {
      const syncing = ctxJson<{ sources: object[] }>(directory, 'sync');
      const made = [];
      for (let i = 0; i < 10; i += 1)
        made.push(
          (await runSubstrat(['agent', 'create', `a${i}`, '--provider', 'external'], { home, cwd: directory })).code,
        );
      expect(made).toEqual(Array(10).fill(0));
      expect(await syncing).toMatchObject({ sources: [{ indexed: 300, skipped: 0 }] });
    } finally {
      expect(await daemon.stop()).toBe(0);
    }
  });

  test('indexes a bucket without storing or printing its keys', async () => {
    const server = await startS3('docs');
    try {
      configure(
        `[db]\npath = "ctx.db"\n[connectors.s3.bucket]\nbucket = "docs"\nendpoint_url = "${server.url}"\naccess_key_id = "${S3_KEYS.accessKeyId}"\nsecret_access_key = "\${SECRET:-wrong-secret-of-mine}"\n`,
      );
      await server.put('a.md', '# In the bucket\n');
      const failed = await runCtx(directory, 'sync');
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain('SignatureDoesNotMatch');
      const env = { SECRET: S3_KEYS.secretAccessKey, CTX_CONFIG: 'ctx.toml' };
      const where = { home: join(directory, 'home'), cwd: directory, program: ctxLauncher, env };
      const first = await runSubstrat(['sync'], where);
      expect(first.stdout).toContain('1 seen, 1 indexed');
      await server.remove('a.md');
      expect((await runSubstrat(['sync'], where)).stdout).toContain('0 seen, 0 indexed (0 chunks), 1 removed');
      const check = await runSubstrat(['config', 'check'], where);
      expect(check.stdout).toMatch(/secret_access_key +"\(secret\)" +ctx\.toml:\d+, \$SECRET/);
      const store = readFileSync(join(directory, 'ctx.db'), 'latin1');
      for (const said of [failed.stdout, failed.stderr, first.stdout, first.stderr, check.stdout, store]) {
        expect(said).not.toContain('wrong-secret-of-mine');
      }
      expect(store).not.toContain(S3_KEYS.secretAccessKey);
    } finally {
      await server.stop();
    }
  });
});

describe('config check', () => {
  test('prints effective settings and their origin, without secrets', async () => {
    configure(
      '[chunking]\nmax_tokens = 300\n[connectors.git.g]\nurl = "https://me:hunter2@host/r.git"\n[connectors.script.s]\npath = "s.lua"\ntoken = "hunter2"\n[embedding]\napi_key = "hunter2"\n',
    );
    const { settings } = await ctxJson<{ settings: { key: string; value: unknown; origin: string }[] }>(
      directory,
      'config',
      'check',
    );
    const of = (key: string) => settings.find((setting) => setting.key === key);
    expect(of('chunking.max_tokens')).toEqual({ key: 'chunking.max_tokens', value: 300, origin: 'ctx.toml:4' });
    expect(of('chunking.overlap_tokens')).toMatchObject({ value: 80, origin: 'default' });
    expect(of('db.path')).toMatchObject({ value: join(directory, 'home/substrat.db'), origin: 'default' });
    expect(of('connectors.git.g.url')).toMatchObject({ value: 'https://…@host/r.git' });
    expect(of('connectors.script.s.token')).toMatchObject({ value: '(secret)', origin: 'ctx.toml:9' });
    expect(JSON.stringify(settings)).not.toContain('hunter2');
  });

  test('reports errors with file and line', async () => {
    configure('[chunking]\nmax_token = 300\n');
    const { code, stderr } = await runCtx(directory, 'config', 'check');
    expect(code).toBe(1);
    expect(stderr).toBe('ctx: ctx.toml:4: unknown key "max_token" in [chunking]; did you mean "max_tokens"?\n');
  });
});

test.each([
  ['an unknown command', ['fly'], 2, /Unknown command 'fly'/],
  ['no query', ['search'], 2, /Missing required argument/],
  ['an unknown mode', ['search', 'x', '--mode', 'magic'], 2, /Allowed choices are keyword, semantic, hybrid/],
  ['a time that is not a date', ['search', 'x', '--since', 'soon'], 2, /--since takes a date/],
  ['an unknown document', ['get', 'none'], 1, /There is no document none/],
  ['no configuration', ['sources', '--config', 'none.toml'], 1, /configuration file does not exist/],
])('%s is reported in one sentence', async (_, args, code, message) => {
  const ended = await runCtx(directory, ...args);
  expect(ended).toMatchObject({ code, stdout: '' });
  expect(ended.stderr).toMatch(message);
  expect(ended.stderr).not.toMatch(/ {4}at /);
});

test('help and completions include every command', async () => {
  const help = (await runCtx(directory, '--help')).stdout;
  for (const name of ['init', 'sync', 'search', 'get', 'sources', 'stats', 'export', 'config', 'completions'])
    expect(help).toContain(name);
  const { stdout } = await runCtx(directory, 'completions', 'bash');
  expect(stdout).toContain('complete -o default -F _ctx ctx');
  const offered = await runCtx(directory, 'complete', '--', 'sync', '--dry');
  expect(offered.stdout).toContain('--dry-run');
});
