// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureText } from './config.testkit.ts';
import { loadConfig } from './config.ts';
import { resolveHome } from './home.ts';

describe('loadConfig()', () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'substrat-config-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  const write = (path: string, slots: number) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), `[daemon]\nslots = ${slots}\n`);
  };
  const loadHere = (file?: string) => loadConfig({ file, cwd, home: join(cwd, 'home'), env: {} });

  test('returns every default without a file', () => {
    expect(loadHere()).toEqual({
      file: null,
      db: { path: join(cwd, 'home/substrat.db') },
      server: { bind: { host: '127.0.0.1', port: 7331 }, origins: [], publicUrl: null },
      daemon: {
        checks: [],
        slots: 4,
        defaultProvider: null,
        turnTimeoutMs: 1_800_000,
        requestDeadlineMs: 86_400_000,
        questionDeadlineMs: 7 * 86_400_000,
        maxAttempts: 3,
        maxDeaths: 3,
        quietAfterMs: 120_000,
        stalledAfterMs: 900_000,
        leaseMs: 30_000,
        timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      },
      node: { name: null, labels: [], deadAfterMs: null, portable: true, wipRemote: null, shared: [] },
      limits: {
        toolCallsPerMinute: 120,
        maxChainDepth: 3,
        maxTreeRuns: 200,
        maxChildren: 32,
        maxDepth: 6,
        maxAgents: 1_000,
        maxWorkspaces: 100,
        firstDayTokens: 20_000_000,
        maxLinks: 100,
      },
      events: { retentionMs: 30 * 86_400_000, heartbeatMs: 15_000, patienceMs: 30_000 },
      retention: { messagesMs: null, runsMs: null, runMessagesMs: null, historyMs: null },
      backup: { maxFileBytes: 256 * 2 ** 20, maxHomeBytes: 4096 * 2 ** 20, maxEntries: 200_000 },
      sandbox: {
        mode: process.platform === 'linux' ? 'bwrap' : 'none',
        roots: [],
        network: [],
        limits: expect.anything(),
      },
      providers: {},
      members: [],
      channels: [],
      people: {},
      notify: { url: null, secret: null, ntfy: null, ntfyToken: null, includeText: false },
      policies: [],
      schedules: [],
      tools: [],
      agents: [],
      chunking: { maxTokens: 700, overlapTokens: 80 },
      embedding: {
        provider: 'disabled',
        model: null,
        url: null,
        apiKey: null,
        dimension: null,
        batch: 32,
        retries: 3,
        timeoutMs: 60_000,
        path: null,
      },
      retrieval: {
        mode: null,
        finalLimit: 12,
        candidates: 80,
        fusion: 'weighted',
        rerank: false,
        rerankModel: null,
        hybridAlpha: 0.6,
      },
      connectors: { filesystem: {}, git: {}, s3: {}, script: {} },
      registries: {},
      disabled: [],
      warnings: [],
    });
  });

  test('loads the named file, otherwise that of the home, and never one in the current directory', () => {
    for (const path of ['substrat.toml', 'ctx.toml', 'config/ctx.toml', '.ctx/config.toml', 'config.toml'])
      write(path, 7);
    expect(loadHere()).toMatchObject({ file: null, daemon: { slots: 4 } });
    write('home/config.toml', 8);
    expect(loadHere()).toMatchObject({ file: join(cwd, 'home/config.toml'), daemon: { slots: 8 } });
    write('other.toml', 9);
    expect(loadHere('other.toml')).toMatchObject({ file: join(cwd, 'other.toml'), daemon: { slots: 9 } });
  });

  test('fails when the given file is missing, a directory or not UTF-8', () => {
    expect(() => loadHere('gone.toml')).toThrow('gone.toml: the configuration file does not exist');
    expect(() => loadHere('.')).toThrow('it is not a regular file');
    expect(failureText(Uint8Array.of(0x61, 0xff))).toBe('substrat.toml: the file is not UTF-8 text');
  });

  test('fails immediately when the file is a FIFO, a device or too large', () => {
    execFileSync('mkfifo', [join(cwd, 'fifo.toml')]);
    expect(() => loadHere('fifo.toml')).toThrow('fifo.toml: it is not a regular file');
    symlinkSync('/dev/zero', join(cwd, 'zero.toml'));
    expect(() => loadHere('zero.toml')).toThrow('zero.toml: it is not a regular file');
    writeFileSync(join(cwd, 'large.toml'), '#'.repeat(1024 * 1024 + 1));
    expect(() => loadHere('large.toml')).toThrow('large.toml: it has more than 1048576 bytes');
  });

  test('follows a symlink to the configuration', () => {
    write('own/config.toml', 7);
    symlinkSync('own/config.toml', join(cwd, 'linked.toml'));
    expect(loadHere('linked.toml')).toMatchObject({ daemon: { slots: 7 } });
  });

  test('shows the full path of a file outside the working directory', () => {
    const file = join(cwd, 'home/config.toml');
    write('home/config.toml', 0);
    expect(() => loadConfig({ cwd: join(cwd, 'elsewhere'), home: join(cwd, 'home'), env: {} })).toThrow(`${file}:2: `);
  });

  test('resolves paths against the file, and ~ against the home directory', () => {
    write('config/ctx.toml', 1);
    writeFileSync(join(cwd, 'config/ctx.toml'), '[db]\npath = "a.db"\n[sandbox]\nroots = ["../x", "/abs", "~/y"]\n');
    expect(loadConfig({ file: 'config/ctx.toml', cwd, home: cwd, env: { HOME: '/home/$&' } })).toMatchObject({
      db: { path: join(cwd, 'config/a.db') },
      sandbox: { roots: [join(cwd, 'x'), '/abs', '/home/$&/y'] },
    });
  });

  test('freezes everything, defaults and values alike', () => {
    const config = loadConfig({ cwd, home: cwd, env: {} });
    expect(unfrozen(config)).toEqual([]);
    writeFileSync(join(cwd, 'substrat.toml'), '[providers.scripted]\nenv = { A = "b" }\n[members.a]\ntools = ["b"]\n');
    expect(unfrozen(loadHere('substrat.toml'))).toEqual([]);
  });
});

describe('resolveHome()', () => {
  test('is $SUBSTRAT_HOME, or .substrat in the home directory', () => {
    expect(resolveHome({ SUBSTRAT_HOME: '/srv/x/', HOME: '/h' })).toBe('/srv/x');
    expect(resolveHome({ SUBSTRAT_HOME: 'x' })).toBe(join(process.cwd(), 'x'));
    expect(resolveHome({ SUBSTRAT_HOME: '', HOME: '/h' })).toBe('/h/.substrat');
    expect(resolveHome({})).toBe(join(homedir(), '.substrat'));
  });
});

function unfrozen(value: unknown, path = '$'): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([key, child]) => unfrozen(child, `${path}.${key}`));
  return Object.isFrozen(value) ? inside : [path, ...inside];
}
