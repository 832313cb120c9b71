import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { openStore } from './open.ts';
import { testStore } from './store.testsuite.ts';

testStore({
  name: 'SQLite in memory',
  shared: false,
  create: async () => ({ open: () => openStore({ path: ':memory:' }), remove: async () => {} }),
});

testStore({
  name: 'SQLite on disk',
  shared: true,
  create: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'substrat-store-'));
    return {
      open: () => openStore({ path: join(directory, 'substrat.db') }),
      remove: () => rm(directory, { recursive: true }),
    };
  },
});

describeOnPostgres('on a server', () =>
  testStore({
    name: 'PostgreSQL',
    shared: true,
    create: async () => {
      const { url, drop } = await createDatabase();
      return { open: () => openStore({ url }), remove: drop };
    },
  }),
);
