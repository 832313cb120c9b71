import type { Engine } from '../../src/store/store.ts';

/**
 * The engine of the tests' worlds and daemons. The project `postgres` of vitest.config.ts runs the files on
 * PostgreSQL that the others run on SQLite.
 */
export const ENGINE: Engine = process.env.SUBSTRAT_TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/** Null if the store is a file or in memory. */
export async function takeSharedDatabase(): Promise<{
  readonly url: string;
  readonly giveBack: () => Promise<void>;
} | null> {
  return ENGINE === 'postgres' ? (await import('./postgres.ts')).takeDatabase() : null;
}
