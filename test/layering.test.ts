import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Import, parseSource, readSources, type Source } from './helpers/source.ts';

const ADAPTERS = ['config', 'store', 'search', 'scripting', 'providers', 'sandbox', 'tracing'];
const DOMAINS = ['messaging', 'runs', 'memory', 'knowledge', 'personas', 'workspaces', 'backup'];
const BELOW_TOOLS = ['core', ...ADAPTERS, ...DOMAINS];
const BELOW_ROOTS = [...BELOW_TOOLS, 'tools', 'http', 'mcp', 'client'];

/** The rooms, and which others each may import. */
const SEES: Readonly<Record<string, readonly string[]>> = {
  core: [],
  ...Object.fromEntries(ADAPTERS.map((room) => [room, ['core']])),
  ...Object.fromEntries(DOMAINS.map((room) => [room, ['core', ...ADAPTERS]])),
  tools: BELOW_TOOLS,
  http: [...BELOW_TOOLS, 'tools'],
  mcp: [...BELOW_TOOLS, 'tools'],
  daemon: BELOW_ROOTS,
  ctx: BELOW_ROOTS,
  client: ['core', 'config'],
  cli: ['core', 'config', 'client'],
  scripted: [],
  demo: ['scripted'],
};

/** What a room may import besides, as long as nothing of it is left when the types are stripped. */
const SEES_TYPES_OF: typeof SEES = { client: ['http'], cli: ['http'], scripted: ['core'] };

/** Single files that a room may import from a room which it does not see. */
const SEES_FILES: typeof SEES = {
  // Personas are the configuration's: with a daemon or without, the same commands show them.
  cli: ['src/daemon/main.ts', 'src/daemon/backups.ts', 'src/sandbox/probe.ts', 'src/ctx/commands/agent.ts'],
  // The two command lines look and behave alike.
  ctx: ['src/cli/command-line.ts', 'src/cli/context.ts', 'src/cli/terminal.ts', 'src/cli/commands/completions.ts'],
};

/** What a room shows to others besides the file that carries its name. A room that is not listed shows all its files. */
const CONTRACTS: typeof SEES = {
  store: ['open.ts', 'snapshot.ts'],
  providers: ['provider.ts'],
  sandbox: [],
  search: [],
  scripting: ['following.ts', 'open.ts'],
  tracing: [],
  scripted: [],
  tools: ['tool.ts', 'catalog.ts', 'call.ts', 'bound.ts', 'served.ts', 'knowledge.ts', 'custom.ts', 'extensions.ts'],
  http: ['api.ts', 'app.ts', 'schemas.ts'],
  mcp: ['server.ts', 'socket.ts', 'knowledge-server.ts'],
};

/** Those that put the others together see their insides. */
const COMPOSITION_ROOTS = ['daemon', 'ctx'];

const NAMELESS = ['utils', 'util', 'helpers', 'helper', 'manager', 'common', 'misc'];
const MOST_LINES = 500;

test('the house is in order', () => {
  const sources = readSources('src');
  expect(sources).not.toEqual([]);
  expect(faults(sources)).toEqual([]);
});

test('files are small and named for a thing', () => {
  expect(readSources('src', 'test', 'bench').flatMap(shapeFaults)).toEqual([]);
});

describe('the rules', () => {
  const faultsOf = (path: string, text: string) => faults([{ path, text }]);

  test.each([
    ['core imports nothing', 'src/core/run.ts', "import { open } from '../store/store.ts'"],
    ['a type import counts', 'src/core/run.ts', "import type { Store } from '../store/store.ts'"],
    ['a type in place counts', 'src/core/run.ts', "export type S = import('../store/store.ts').Store"],
    ['a re-export counts', 'src/core/run.ts', "export * from '../store/store.ts'"],
    ['a named re-export counts', 'src/core/run.ts', "export { open } from '../store/store.ts'"],
    ['a dynamic import counts', 'src/core/run.ts', "await import('../store/store.ts')"],
    ['a worker counts', 'src/core/run.ts', "new Worker(new URL('../store/store.ts', import.meta.url))"],
    ['require counts', 'src/mcp/bridge.cjs', "require('../daemon/main.ts')"],
    ['an adapter does not import another', 'src/store/store.ts', "import '../config/config.ts'"],
    ['a domain does not import another', 'src/messaging/post.ts', "import '../runs/scheduler.ts'"],
    ['tools do not import http', 'src/tools/tool.ts', "import '../http/app.ts'"],
    ['http does not import mcp', 'src/http/app.ts', "import '../mcp/server.ts'"],
    ['the cli imports types of http only', 'src/cli/main.ts', "import { app } from '../http/app.ts'"],
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
    ['src/daemon/main.ts', 'process.exit(1)'],
    ['src/cli/main.ts', "import type { App } from '../http/app.ts'; await import('../daemon/main.ts')"],
    ['src/cli/main.ts', "new URL('../../package.json', import.meta.url); process.exitCode = 1; process.exit(2)"],
    ['src/store/store.test.ts', "import '../../test/helpers/postgres.ts'; import './store.testsuite.ts'"],
  ])('%s may have: %s', (path, text) => {
    expect(faultsOf(path, text)).toEqual([]);
  });

  test('a long file and a nameless one are faults', () => {
    expect(shapeFaults({ path: 'src/runs/slots.ts', text: '\n'.repeat(MOST_LINES) })).toEqual([]);
    expect(shapeFaults({ path: 'src/runs/slots.ts', text: '\n'.repeat(MOST_LINES + 1) })).toHaveLength(1);
    expect(shapeFaults({ path: 'src/runs/utils.ts', text: '' })).toHaveLength(1);
    expect(shapeFaults({ path: 'src/runs/run-manager.ts', text: '' })).toHaveLength(1);
  });
});

function faults(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => !isTest(path))
    .flatMap((source) => {
      const { path } = source;
      const room = roomOf(path);
      if (room === undefined || SEES[room] === undefined)
        return [`${path} is in no room that test/layering.test.ts knows`];
      const { imports, exits } = parseSource(source);
      return [
        ...(exits && !/(^|\/)(main\.ts|bridge\.cjs|scripted\/scripted\.ts)$/.test(path)
          ? [`${path} calls process.exit`]
          : []),
        ...imports.filter((needed) => !maySee(room, needed)).map((needed) => `${path} imports ${needed.path}`),
      ];
    });
}

function maySee(room: string, { path, typeOnly }: Import): boolean {
  if (isTest(path) || /^(test|bench)\//.test(path)) return false;
  const other = roomOf(path);
  if (other === undefined || other === room || SEES_FILES[room]?.includes(path)) return true;
  if (!SEES[room]?.includes(other) && !(typeOnly && SEES_TYPES_OF[room]?.includes(other))) return false;
  const shown = CONTRACTS[other];
  return (
    shown === undefined ||
    COMPOSITION_ROOTS.includes(room) ||
    [`${other}.ts`, ...shown].includes(path.slice(`src/${other}/`.length))
  );
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
