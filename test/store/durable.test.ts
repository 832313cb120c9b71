import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { startDaemon } from '../helpers/daemon.ts';

const FULL = 2;

test("the daemon's store waits for the disk at every commit: pragma synchronous is FULL", async () => {
  // The setting is per connection, so the daemon's own ones are checked: it sets a pragma on every one it opens.
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  try {
    await using world = await startDaemon();
    const opened = new Set(pragma.mock.contexts as unknown as Database.Database[]);
    const writers = [...opened].filter(({ name, readonly }) => name === join(world.home, 'substrat.db') && !readonly);
    expect(writers).toHaveLength(1);
    expect(writers.map((writer) => writer.pragma('synchronous', { simple: true }))).toEqual([FULL]);
  } finally {
    pragma.mockRestore();
  }
});
