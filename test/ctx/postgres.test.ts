import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ctxJson } from '../helpers/ctx.ts';
import { type EmbeddingServer, startEmbeddingServer } from '../helpers/embedding-server.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';

let directory: string;
let server: EmbeddingServer;
let database: Awaited<ReturnType<typeof createDatabase>>;

interface Synced {
  readonly sources: readonly object[];
  readonly embedded: number;
}

function write(name: string, text: string): void {
  writeFileSync(join(directory, 'docs', name), text);
}

const sync = () => ctxJson<Synced>(directory, 'sync');
const find = async (query: string, mode: string) =>
  (await ctxJson<{ results: { source_id: string }[] }>(directory, 'search', query, '--mode', mode)).results.map(
    ({ source_id }) => source_id,
  );

describeOnPostgres('ctx on PostgreSQL', () => {
  beforeEach(async () => {
    [server, database] = await Promise.all([startEmbeddingServer(), createDatabase()]);
    directory = mkdtempSync(join(tmpdir(), 'ctx-postgres-'));
    mkdirSync(join(directory, 'docs'));
    writeFileSync(
      join(directory, 'ctx.toml'),
      `[server]\nbind = "127.0.0.1:0"\n[db]\nurl = "${database.url}"
[embedding]\nprovider = "openai"\nurl = "${server.url}"\nmodel = "test"
[connectors.filesystem.docs]\nroot = "docs"\n`,
    );
  });
  afterEach(async () => {
    await server.close();
    await database.drop();
    rmSync(directory, { recursive: true });
  });

  test('a sync, a second one, a change and a deletion are found by keyword, semantic and hybrid search', async () => {
    write('cars.md', '# Cars\n\nThe automobile of the year is "quick", it’s naïve 東京 \\ to say.\n');
    write('health.md', '# Health\n\nAsk a physician.\n');
    write('sea.md', '# Sea\n\nThe ocean is deep.\n');
    expect(await sync()).toMatchObject({ sources: [{ seen: 3, indexed: 3, chunks: 3 }], embedded: 3 });
    expect(await sync()).toMatchObject({ sources: [{ seen: 3, unchanged: 3, indexed: 0 }], embedded: 0 });

    expect(await find('automobiles', 'keyword')).toEqual(['cars.md']);
    expect(await find('東京', 'keyword')).toEqual(['cars.md']);
    expect((await find('doctor', 'semantic'))[0]).toBe('health.md');
    expect((await find('deep water', 'hybrid'))[0]).toBe('sea.md');

    write('health.md', '# Health\n\nBread is good for you.\n');
    rmSync(join(directory, 'docs/sea.md'));
    expect(await sync()).toMatchObject({ sources: [{ seen: 2, indexed: 1, deleted: 1, unchanged: 1 }], embedded: 1 });
    expect(await find('physician', 'keyword')).toEqual([]);
    expect(await find('ocean', 'keyword')).toEqual([]);
    expect((await find('bakery', 'semantic'))[0]).toBe('health.md');
    expect(await find('water', 'semantic')).not.toContain('sea.md');
    expect((await find('bread', 'hybrid'))[0]).toBe('health.md');
    expect(await ctxJson(directory, 'stats')).toMatchObject({ documents: 2, chunks: 2 });
  });
});
