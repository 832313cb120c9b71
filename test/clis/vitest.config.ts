import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The real programs, one at a time: they need much memory, and the first run installs them. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    pool: 'forks',
    maxWorkers: 1,
    include: ['test/clis/*.real.ts'],
    globalSetup: ['test/helpers/postgres-server.ts'],
    testTimeout: 120_000,
    hookTimeout: 600_000,
  },
});
