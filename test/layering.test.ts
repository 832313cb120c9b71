import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Import, parseSource, readSources, type Source } from './helpers/source.ts';

const ADAPTERS = ['config', 'store', 'search', 'scripting', 'providers', 'sandbox', 'tracing'];
const DOMAINS = ['messaging', 'runs', 'memory', 'knowledge', 'personas', 'workspaces', 'backup'];
const BELOW_TOOLS = ['core', ...ADAPTERS, ...DOMAINS];
const BELOW_ROOTS = [...BELOW_TOOLS, 'tools', 'extensions', 'http', 'mcp', 'client'];

/** The rooms, and which others each may import. */
const SEES: Readonly<Record<string, readonly string[]>> = {
  core: [],
  ...Object.fromEntries(ADAPTERS.map((room) => [room, ['core']])),
  ...Object.fromEntries(DOMAINS.map((room) => [room, ['core', ...ADAPTERS]])),
  tools: BELOW_TOOLS,
  extensions: [...BELOW_TOOLS, 'tools'],
  http: [...BELOW_TOOLS, 'tools'],
  mcp: [...BELOW_TOOLS, 'tools'],
  daemon: BELOW_ROOTS,
  'command-line': ['core', 'config'],
  ctx: [...BELOW_ROOTS, 'command-line'],
  client: ['core', 'config'],
  cli: ['core', 'config', 'client', 'command-line'],
  scripted: [],
  demo: ['scripted'],
};

/** What a room may also import, as long as only types are imported. */
const SEES_TYPES_OF: typeof SEES = { client: ['http'], cli: ['http'], scripted: ['core'] };

/** Single files that a room may import from a room that it does not see. */
const SEES_FILES: typeof SEES = {
  // What is known of the providers without running them: their configuration keys, and texts for help and `doctor`.
  config: ['src/providers/described.ts'],
  // Personas belong to the configuration: the same commands show them with or without a daemon.
  cli: [
    'src/daemon/main.ts',
    'src/daemon/backups.ts',
    'src/sandbox/probe.ts',
    'src/providers/described.ts',
    'src/ctx/commands/agent.ts',
    // `init` takes over the texts that `persona import` takes over.
    'src/ctx/found-agents.ts',
    'src/demo/team.ts',
  ],
};

/** The files that a room exports to others, from ARCHITECTURE.md. Null for all its files. */
const CONTRACTS = readContracts(readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8'));

/** Composition roots see the insides of other rooms. */
const COMPOSITION_ROOTS = ['daemon', 'ctx'];

/** Files that import modules named by a person, which are not ours. */
const IMPORTS_OTHERS = ['src/personas/module-text.ts'];

const SOURCES = readSources('src');
const PAGE = readSources('web/src');
/** What the page may import of ours: the client, which needs neither Node nor zod, and pure rules about characters. */
const PAGE_SEES = ['src/client/browser.ts', 'src/core/hidden.ts'];
const NAMELESS = ['utils', 'util', 'helpers', 'helper', 'manager', 'common', 'misc'];
const MOST_LINES = 500;

test('the rooms follow the rules', () => {
  expect(SOURCES).not.toEqual([]);
  expect(faults(SOURCES)).toEqual([]);
});

test('the page sees the client only', () => {
  expect(PAGE).not.toEqual([]);
  expect(pageFaults(PAGE)).toEqual([]);
  const leak = { path: 'web/src/app.tsx', text: "import type { Store } from '../../src/store/store.ts'" };
  expect(pageFaults([leak])).toEqual(['web/src/app.tsx imports src/store/store.ts']);
});

test('there are no import cycles, types included', () => {
  expect(cyclesOf(SOURCES)).toEqual([]);
});

test('ARCHITECTURE.md lists the contract of every room: existing files that another room imports', () => {
  expect([...CONTRACTS.keys()].sort()).toEqual(Object.keys(SEES).sort());
  expect(contractFaults(CONTRACTS, [...SOURCES, ...PAGE])).toEqual([]);
});

test('a domain only touches the parts of a transaction that its tx.ts lists', () => {
  expect(partFaults(SOURCES)).toEqual([]);
});

test('files are small and named for a thing', () => {
  expect(readSources('src', 'test', 'bench', 'web/src').flatMap(shapeFaults)).toEqual([]);
});

describe('the rules', () => {
  const REQUIRE = 'const load = createRequire(import.meta.url)';
  const ENDING = `\${import.meta.filename.slice(-3)}`;
  const faultsOf = (path: string, text: string) => faults([{ path, text }]);

  test.each([
    ['core imports nothing', 'src/core/run.ts', "import { open } from '../store/store.ts'"],
    ['a type import counts', 'src/core/run.ts', "import type { Store } from '../store/store.ts'"],
    ['a type in place counts', 'src/core/run.ts', "export type S = import('../store/store.ts').Store"],
    ['a re-export counts', 'src/core/run.ts', "export * from '../store/store.ts'"],
    ['a named re-export counts', 'src/core/run.ts', "export { open } from '../store/store.ts'"],
    ['a dynamic import counts', 'src/core/run.ts', "await import('../store/store.ts')"],
    ['a worker counts', 'src/core/run.ts', "new Worker(new URL('../store/store.ts', import.meta.url))"],
    ["the package's own name counts", 'src/core/run.ts', "import { startDaemon } from 'substrat/daemon'"],
    ["the package's own bare name counts", 'src/core/run.ts', "import { openSubstrat } from 'substrat'"],
    ['an absolute path is refused', 'src/core/run.ts', "import '/src/store/store.ts'"],
    ['a template without holes counts', 'src/core/run.ts', 'await import(`../store/store.ts`)'],
    ['a template with holes is refused', 'src/core/run.ts', `await import(\`./\${name}.ts\`)`],
    ['a computed import is refused', 'src/core/run.ts', 'await import(name)'],
    ['createRequire counts', 'src/core/run.ts', "createRequire(import.meta.url)('../store/store.ts')"],
    ['what createRequire returned counts', 'src/core/run.ts', `${REQUIRE}; load('../store/store.ts')`],
    ['what it resolves counts', 'src/core/run.ts', `${REQUIRE}; load.resolve('../store/store.ts')`],
    ['what it loads is not computed', 'src/core/run.ts', `${REQUIRE}; load(name)`],
    ['createRequire keeps its name', 'src/core/run.ts', "import { createRequire as load } from 'node:module'"],
    ['createRequire is not handed on', 'src/core/run.ts', 'use(createRequire)'],
    ['createRequire is not taken from a namespace', 'src/core/run.ts', 'module.createRequire(place)'],
    [
      "a worker with the file's own ending counts",
      'src/core/run.ts',
      `new Worker(new URL(\`../store/a${ENDING}\`, import.meta.url))`,
    ],
    ['the URL of a worker is not computed', 'src/core/run.ts', 'new Worker(new URL(name, import.meta.url))'],
    ['a worker has a URL', 'src/core/run.ts', "new Worker('src/store/store.ts')"],
    ['a URL of a file is not computed', 'src/core/run.ts', `read(new URL(\`./\${name}.ts\`, import.meta.url))`],
    ["the file's own place is not computed with", 'src/core/run.ts', "join(import.meta.dirname, '../store/store.ts')"],
    ["the file's own URL is not handed on", 'src/core/run.ts', 'use(import.meta.url)'],
    ['require counts', 'src/mcp/bridge.cjs', "require('../daemon/main.ts')"],
    ['an adapter does not import another', 'src/store/store.ts', "import '../config/config.ts'"],
    ['the configuration sees descriptions of providers only', 'src/config/config.ts', "import '../providers/cli.ts'"],
    [
      'the cli sees descriptions of providers only',
      'src/cli/main.ts',
      "import '../providers/cursor-agent/describe.ts'",
    ],
    ['a domain does not import another', 'src/messaging/post.ts', "import '../runs/attempt.ts'"],
    ['tools do not import http', 'src/tools/tool.ts', "import '../http/schemas.ts'"],
    ['tools do not import extensions', 'src/tools/tool.ts', "import '../extensions/extensions.ts'"],
    ['http does not import mcp', 'src/http/app.ts', "import '../mcp/socket.ts'"],
    ['the cli imports types of http only', 'src/cli/main.ts', "import { page } from '../http/schemas.ts'"],
    ['ctx does not import the cli', 'src/ctx/main.ts', "import '../cli/program.ts'"],
    ['the command lines share a room that sees neither', 'src/command-line/context.ts', "import '../cli/feed.ts'"],
    ['the cli does not see insides of the daemon', 'src/cli/main.ts', "import '../daemon/daemon.ts'"],
    ['scripted imports types of core only', 'src/scripted/scripted.ts', "import '../core/run.ts'"],
    ['a room shows its contract only', 'src/runs/slots.ts', "import '../store/sqlite.ts'"],
    ['a room is known here', 'src/attic/attic.ts', ''],
    ['a file is in a room', 'src/index.ts', ''],
    ['tests are not imported', 'src/store/store.ts', "import './store.testsuite.ts'"],
    ['nothing is imported from test/', 'src/store/store.ts', "import '../../test/helpers/postgres.ts'"],
    ['only main.ts exits', 'src/runs/slots.ts', 'process.exit(1)'],
  ])('%s', (_rule, path, text) => {
    expect(faultsOf(path, text)).toHaveLength(1);
  });

  test.each([
    ['src/store/sqlite.ts', "import './query.ts'; import { x } from '../core/run.ts'; import 'kysely'"],
    ['src/store/migrations/0001.ts', "import '../schema.ts'; import '../../core/run.ts'"],
    ['src/messaging/post.ts', "import '../store/store.ts'"],
    ['src/daemon/daemon.ts', "import '../store/sqlite.ts'; import '../runs/slots.ts'"],
    ['src/config/config.ts', "import '../providers/described.ts'"],
    ['src/daemon/main.ts', 'process.exit(1)'],
    ['src/cli/main.ts', "import type { App } from '../http/schemas.ts'; await import('../daemon/main.ts')"],
    ['src/cli/main.ts', "new URL('../../package.json', import.meta.url); process.exitCode = 1; process.exit(2)"],
    ['src/daemon/log.ts', "import { createRequire } from 'node:module'; createRequire(import.meta.url)('pino')"],
    ['src/daemon/log.ts', `${REQUIRE}; load('pino'); load.resolve('./log.ts')`],
    ['src/scripting/pool.ts', `const at = new URL(\`./worker${ENDING}\`, import.meta.url); new Worker(at)`],
    ['src/http/serve.ts', 'new URL(request.url, base)'],
    ['src/personas/module-text.ts', 'await import(address.href)'],
    ['src/store/store.test.ts', "import '../../test/helpers/postgres.ts'; import './store.testsuite.ts'"],
  ])('%s may have: %s', (path, text) => {
    expect(faultsOf(path, text)).toEqual([]);
  });

  test('finds import cycles, through types and through other files', () => {
    const files = {
      'src/core/a.ts': "import type { B } from './b.ts'",
      'src/core/b.ts': "export * from './c.ts'; import './d.ts'",
      'src/core/c.ts': "await import('./a.ts')",
      'src/core/d.ts': "import 'node:fs'",
      'src/core/d.test.ts': "import './d.ts'; import './d.test.ts'",
    };
    const sources = Object.entries(files).map(([path, text]) => ({ path, text }));
    expect(cyclesOf(sources)).toEqual([['src/core/a.ts', 'src/core/b.ts', 'src/core/c.ts']]);
    expect(cyclesOf(sources.filter(({ path }) => path !== 'src/core/c.ts'))).toEqual([]);
  });

  test('reports a contract without its file, and one that no other room imports', () => {
    const contracts = readContracts('| `store` | `store.ts`, `gone.ts`, `inside.ts` |\n| `core` | every file |\n');
    const sources = [
      { path: 'src/store/store.ts', text: "import './inside.ts'" },
      { path: 'src/store/inside.ts', text: '' },
      { path: 'src/runs/slots.ts', text: "import '../store/store.ts'" },
    ];
    expect(contracts.get('core')).toBeNull();
    expect(contractFaults(contracts, sources)).toEqual([
      'no other room imports src/store/gone.ts',
      'no other room imports src/store/inside.ts',
    ]);
  });

  test('reports an unlisted part and the whole transaction in a domain', () => {
    const tx = {
      path: 'src/memory/tx.ts',
      text: "import type { Part } from '../store/store.ts'; type Tx = Part<'memory'>",
    };
    const fault = (text: string) => partFaults([tx, { path: 'src/memory/blocks.ts', text }]);
    expect(fault('await tx.memory.getBlockOf(p)')).toEqual([]);
    expect(fault('await tx.runs.claimRun(p)')).toEqual(['src/memory/blocks.ts touches tx.runs']);
    expect(fault("import type { Tx } from '../store/store.ts'")).toHaveLength(1);
    expect(fault("import type {\n  BlockView,\n  Tx,\n} from '../store/store.ts'")).toHaveLength(1);
  });

  test('reports a long file and a generic file name', () => {
    expect(shapeFaults({ path: 'src/runs/slots.ts', text: '\n'.repeat(MOST_LINES) })).toEqual([]);
    expect(shapeFaults({ path: 'src/runs/slots.ts', text: '\n'.repeat(MOST_LINES + 1) })).toHaveLength(1);
    expect(shapeFaults({ path: 'src/runs/utils.ts', text: '' })).toHaveLength(1);
    expect(shapeFaults({ path: 'src/runs/run-manager.ts', text: '' })).toHaveLength(1);
  });
});

/** Where a domain touches parts that its room's `tx.ts` does not list. */
function partFaults(sources: readonly Source[]): string[] {
  const listed = new Map(
    DOMAINS.map((room) => {
      const { text = '' } = sources.find(({ path }) => path === `src/${room}/tx.ts`) ?? {};
      return [room, new Set([...text.matchAll(/'(\w+)'/g)].map(([, part]) => part))];
    }),
  );
  return sources.flatMap(({ path, text }) => {
    const parts = listed.get(path.split('/')[1] ?? '');
    if (!parts || isTest(path) || path.endsWith('/tx.ts')) return [];
    const used = new Set([...text.matchAll(/\btx\s*\.\s*([a-z]+)\s*\./g)].map(([, part]) => part));
    const whole = /\{[^}]*\bTx\b[^}]*\} from '(?:\.\.\/)+store\/(?:store|tx)\.ts'/.test(text);
    return [
      ...[...used].filter((part) => !parts.has(part)).map((part) => `${path} touches tx.${part}`),
      ...(whole ? [`${path} takes the whole transaction`] : []),
    ];
  });
}

function pageFaults(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => !isTest(path))
    .flatMap((source) =>
      parseSource(source)
        .imports.filter(({ path }) => !path.startsWith('web/src/') && !PAGE_SEES.includes(path))
        .map(({ path }) => `${source.path} imports ${path}`),
    );
}

function faults(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => !isTest(path))
    .flatMap((source) => {
      const { path } = source;
      const room = roomOf(path);
      if (room === undefined || SEES[room] === undefined)
        return [`${path} is in no room that test/layering.test.ts knows`];
      const { imports, unclear, exits } = parseSource(source);
      return [
        ...(IMPORTS_OTHERS.includes(path) ? [] : unclear.map((what) => `${path} hides what it needs: ${what}`)),
        ...(exits && !/(^|\/)(main\.ts|bridge\.cjs|scripted\/scripted\.ts)$/.test(path)
          ? [`${path} calls process.exit`]
          : []),
        ...imports.filter((needed) => !maySee(room, needed)).map((needed) => `${path} imports ${needed.path}`),
      ];
    });
}

/** Groups of files that reach each other, sorted by name. */
function cyclesOf(sources: readonly Source[]): string[][] {
  const needs = new Map(
    sources
      .filter(({ path }) => !isTest(path))
      .map((source) => [source.path, parseSource(source).imports.map(({ path }) => path)]),
  );
  const reached = new Map([...needs.keys()].sort().map((path) => [path, reachable(path, needs)]));
  const groups = [...reached].map(([path, all]) =>
    [...reached.keys()].filter((other) => all.has(other) && reached.get(other)?.has(path)),
  );
  return groups.filter((group, i) => group[0] === [...reached.keys()][i]);
}

function reachable(path: string, needs: ReadonlyMap<string, readonly string[]>): Set<string> {
  const found = new Set<string>();
  const waiting = [...(needs.get(path) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    waiting.push(...(needs.get(next) ?? []));
  }
  return found;
}

/** The rows "| `room` | `file.ts`, … |" of a table; "every file" is null. */
function readContracts(text: string): Map<string, readonly string[] | null> {
  const rows = text.matchAll(/^\| `([\w-]+)` \| (every file|no file|`[^|]+`) \|$/gm);
  return new Map(
    [...rows].map(([, room = '', files = '']) => [
      room,
      files === 'every file' ? null : [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
    ]),
  );
}

function contractFaults(contracts: typeof CONTRACTS, sources: readonly Source[]): string[] {
  const paths = new Set(sources.map(({ path }) => path));
  const imported = sources
    .filter(({ path }) => !isTest(path))
    .flatMap((source) => parseSource(source).imports.filter(({ path }) => roomOf(path) !== roomOf(source.path)));
  const shown = new Set(imported.map(({ path }) => path));
  return [...contracts]
    .flatMap(([room, files]) => (files ?? []).map((file) => `src/${room}/${file}`))
    .filter((path) => !paths.has(path) || !shown.has(path))
    .map((path) => `no other room imports ${path}`);
}

function maySee(room: string, { path, typeOnly }: Import): boolean {
  if (isTest(path) || /^(test|bench|build|\/|#|file:|substrat)/.test(path)) return false;
  const other = roomOf(path);
  if (other === undefined || other === room || SEES_FILES[room]?.includes(path)) return true;
  if (!SEES[room]?.includes(other) && !(typeOnly && SEES_TYPES_OF[room]?.includes(other))) return false;
  const shown = CONTRACTS.get(other);
  return !shown || COMPOSITION_ROOTS.includes(room) || shown.includes(path.slice(`src/${other}/`.length));
}

function shapeFaults({ path, text }: Source): string[] {
  const lines = text.split('\n').length - 1;
  const words = posix.basename(path).split(/[.-]/);
  return [
    ...(lines > MOST_LINES ? [`${path} has ${lines} lines`] : []),
    ...(words.some((word) => NAMELESS.includes(word)) ? [`${path} is not named for a thing`] : []),
  ];
}

function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function isTest(path: string): boolean {
  return /\.test[a-z]*\.ts$/.test(path);
}
