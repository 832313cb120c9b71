// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ctxJson, runCtx } from '../helpers/ctx.ts';
import { startEmbeddingServer } from '../helpers/embedding-server.ts';

const directory = mkdtempSync(join(tmpdir(), 'substrat-moving-'));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), text);
}

let embeddings: Awaited<ReturnType<typeof startEmbeddingServer>>;

beforeAll(async () => {
  embeddings = await startEmbeddingServer();
  write('docs/deploy.md', '# Deploying\n\nPush the green button.\n');
  write('docs/other.md', '# Other\n\nNothing of the kind.\n');
  write(
    'ctx.toml',
    `[db]
path = "ctx.db"
[embedding]
provider = "openai"
url = "${embeddings.url}"
model = "test"
api_key = "k"
batch_size = 1
[vector_index]
backend = "auto"
[connectors.filesystem.docs]
root = "docs"
include_globs = ["**/*.md"]
[tools.script.jira]
path = "tools/jira.lua"
token = "\${JIRA_TOKEN}"
[tools.script.greet]
path = "tools/greet.lua"
word = "Hello"
[connectors.script.list]
path = "tools/list.lua"
kind = "wanted"
`,
  );
  write(
    'tools/greet.lua',
    'tool = { name = "greet", parameters = { { name = "who", type = "string" } } }\nfunction tool.execute(params, context)\n  return (context.config.word or "?") .. " " .. params.who\nend\nreturn tool\n',
  );
  write('tools/jira.lua', 'error("not to be run")');
  write(
    'tools/list.lua',
    'connector = { name = "list" }\nfunction connector.scan(config)\n  return { { source_id = "one", body = "kind " .. tostring(config.kind) } }\nend\nreturn connector\n',
  );
});

afterAll(async () => {
  await embeddings.close();
  rmSync(directory, { recursive: true });
});

test('an unset variable and a key without effect are one warning each, and everything else works', async () => {
  const { code, stdout, stderr } = await runCtx(directory, 'tool', 'list');
  expect(code).toBe(0);
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^warning: .*ctx\.toml:9: \[vector_index\] has no effect: /),
    expect.stringMatching(/^warning: .*ctx\.toml:14: \[tools\.script\.jira\] is disabled: .* JIRA_TOKEN is not set\.$/),
  ]);
  expect(stdout).toContain('greet');
  expect(stdout).not.toContain('jira');
});

test('sync --progress json writes one JSON value a line on stderr', async () => {
  const { code, stderr } = await runCtx(directory, 'sync', 'filesystem', '--progress', 'json');
  expect(code).toBe(0);
  const events = stderr
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('warning: '))
    .map((line) => JSON.parse(line));
  expect(events).toContainEqual({
    event: 'progress',
    connector: 'filesystem:docs',
    phase: 'ingesting',
    n: 2,
    total: 2,
  });
  const quiet = await runCtx(directory, 'sync', 'filesystem', '--full', '--no-progress');
  expect(quiet.stderr.split('\n').filter((line) => !line.startsWith('warning: '))).toEqual(['']);
});

test('embed takes a limit and a batch size, and a dry run changes nothing', async () => {
  const file = join(directory, 'ctx.toml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('model = "test"', 'model = "other"'));
  const pending = (...flags: string[]) => ctxJson(directory, 'embed', 'pending', ...flags);
  expect(await pending('--dry-run')).toEqual({ model: 'openai:other', pending: 2, would_embed: 2 });
  expect(await pending('--limit', '1', '--batch-size', '8')).toMatchObject({ embedded: 1, chunks: 2 });
  expect(await pending('--dry-run', '--limit', '5')).toMatchObject({ pending: 1, would_embed: 1 });
  expect(await runCtx(directory, 'embed', 'pending', '--batch-size', '0')).toMatchObject({ code: 2 });
});

test('export -o writes one JSON value with documents and chunks', async () => {
  expect((await runCtx(directory, 'export', '-o', join(directory, 'data.json'))).stdout).toContain('Wrote 2 documents');
  const { documents, chunks } = JSON.parse(readFileSync(join(directory, 'data.json'), 'utf8'));
  expect(Object.keys(documents[0])).toEqual(['id', 'source', 'source_id', 'source_url', 'title', 'updated_at', 'body']);
  expect(documents).toHaveLength(2);
  expect(chunks).toHaveLength(2);
  expect(chunks[0]).toMatchObject({ document_id: documents[0].id, chunk_index: 0, text: expect.any(String) });
  await runCtx(directory, 'export', '-o', join(directory, 'data.jsonl'));
  expect(readFileSync(join(directory, 'data.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
});

describe('test PATH', () => {
  test('runs a tool that is not configured, with the settings of one that is', async () => {
    write('elsewhere/mine.lua', readFileSync(join(directory, 'tools/greet.lua'), 'utf8'));
    const path = join(directory, 'elsewhere/mine.lua');
    expect(await ctxJson(directory, 'tool', 'test', path, '--param', 'who=Ann')).toEqual({ result: '? Ann' });
    const sourced = await ctxJson(directory, 'tool', 'test', path, '--source', 'greet', '--param', 'who=Ann');
    expect(sourced).toEqual({ result: 'Hello Ann' });
    expect(await runCtx(directory, 'tool', 'test', path, '--source', 'none')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no [tools.script.none] in the configuration.'),
    });
  });

  test('runs a connector in the same way', async () => {
    const path = join(directory, 'tools/list.lua');
    expect(await ctxJson(directory, 'connector', 'test', path)).toMatchObject({ items: [{ body: 'kind nil' }] });
    const sourced = await ctxJson(directory, 'connector', 'test', path, '--source', 'list');
    expect(sourced).toMatchObject({ items: [{ body: 'kind wanted' }] });
  });
});
