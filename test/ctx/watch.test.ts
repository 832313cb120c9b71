import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ctxJson, startCtx } from '../helpers/ctx.ts';
import { type EmbeddingServer, startEmbeddingServer } from '../helpers/embedding-server.ts';
import { until } from '../helpers/until.ts';

let directory: string;
let server: EmbeddingServer;
const running: ReturnType<typeof startCtx>[] = [];

beforeEach(async () => {
  server = await startEmbeddingServer();
  directory = mkdtempSync(join(tmpdir(), 'watch-'));
  mkdirSync(join(directory, 'docs'));
  writeFileSync(
    join(directory, 'ctx.toml'),
    `[server]\nbind = "127.0.0.1:0"\n[db]\npath = "ctx.db"
[embedding]\nprovider = "openai"\nurl = "${server.url}"\nmodel = "test"
[connectors.filesystem.docs]\nroot = "docs"\nwatch = true\n`,
  );
  write('first.md', 'The first text is about bread.');
});
afterEach(async () => {
  for (const { child } of running.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await server.close();
  rmSync(directory, { recursive: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(directory, 'docs', name), text);
}

function watch() {
  const started = startCtx(directory, 'sync', '--watch');
  running.push(started);
  return started;
}

const find = async (query: string, mode: string) =>
  (await ctxJson<{ results: { source_id: string }[] }>(directory, 'search', query, '--mode', mode)).results.map(
    ({ source_id }) => source_id,
  );

test('ctx sync --watch indexes changes for keyword and semantic search, and Ctrl-C ends it with 0', async () => {
  const { child, said } = watch();
  await until('the first sync', () => said().includes('test: 1 embedded'));
  write('second.md', 'Somebody asked a physician.');
  await until('the second sync', () => said().includes('2 seen, 1 indexed'));
  expect(await find('physician', 'keyword')).toEqual(['second.md']);
  await until('its vector', async () => (await find('doctor', 'semantic'))[0] === 'second.md');
  rmSync(join(directory, 'docs/first.md'));
  await until('the third sync', () => said().includes('1 removed'));
  expect(await find('bread', 'keyword')).toEqual([]);

  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(said()).toMatch(/^(filesystem:docs: \d seen, .*\n|openai:test: 1 embedded\n)+$/);
  expect(await ctxJson(directory, 'sources')).toMatchObject({ sources: [{ healthy: true, notes: null }] });
});

test('changes while the watch starts are found', async () => {
  const { said } = watch();
  await until('a beginning', () => said().includes('1 seen'));
  write('early.md', 'An early bird.');
  await until('the next sync', () => said().includes('2 seen, 1 indexed'));
});
