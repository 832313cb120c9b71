import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The suite of the project `sqlite` in one worker; with MUTANTS_COVERAGE it records what each test file executes. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    pool: 'forks',
    maxWorkers: 1,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/helpers/postgres-server.ts'],
    setupFiles: process.env.MUTANTS_COVERAGE ? ['build/mutants/coverage-setup.ts'] : [],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
