import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { writeTwice } from '../../../test/helpers/repeating-store.ts';
import { readScript } from '../../scripting/open.ts';
import { openScripting } from '../../scripting/scripting.testkit.ts';
import { openStore } from '../../store/open.ts';
import type { Item } from '../connector.ts';
import { Extractor } from '../extract/extractor.ts';
import { syncSource } from '../sync.ts';
import { scanScript, scriptConnector } from './script.ts';

const scripting = openScripting();
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'substrat-connector-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const optionsOf = (source: string, settings: Readonly<Record<string, unknown>> = {}) => {
  const path = join(cwd, 'c.lua');
  writeFileSync(path, `connector = { name = "c", version = "1", description = "d" }\n${source}`);
  return {
    scripting,
    settings: { path, timeout: 30, ...settings },
    env: { TOKEN: 'secret' },
    readScript,
    log: () => undefined,
  };
};

test('a script returns items; an invalid one is reported and skipped', async () => {
  const options = optionsOf(
    `function connector.scan(config)
      return {
        { source_id = "a", body = "A", title = "T", content_type = "text/markdown", source_url = "http://x", author = "me",
          created_at = "2026-01-01T00:00:00Z", updated_at = 1767225600.0004, metadata_json = json.encode({ k = config.key }) },
        { source_id = "b", body = env.get("TOKEN") },
        { source_id = "b", body = "again" },
        { body = "no id" },
        { source_id = "c" },
        { source_id = "d", body = "x", updated_at = "yesterday" },
        { source_id = "e", body = "x", metadata_json = "[" },
        "nonsense",
      }
    end`,
    { key: 'v', env: ['TOKEN'] },
  );
  const { items, problems } = await scanScript(options);
  expect(items).toEqual([
    {
      source_id: 'a',
      body: 'A',
      title: 'T',
      content_type: 'text/markdown',
      source_url: 'http://x',
      author: 'me',
      created_at: Date.UTC(2026, 0, 1),
      updated_at: Date.UTC(2026, 0, 1),
      metadata_json: { k: 'v' },
    },
    { source_id: 'b', body: 'secret' },
  ]);
  expect(problems.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([
    'b: another item has this source_id',
    expect.stringContaining('item 4: source_id'),
    expect.stringContaining('c: body'),
    'd: updated_at must be a time',
    'e: metadata_json must be a JSON object',
    expect.stringContaining('item 8: '),
  ]);
});

test.each([
  ['a time that no calendar has', 'updated_at = 1e300', 'updated_at must be a time'],
  ['a time that is not a number', 'created_at = 0/0', 'created_at'],
  ['endless time', 'created_at = math.huge', 'created_at'],
  ['a NUL in its name', 'source_id = "a\\0b"', 'source_id must not contain NUL characters'],
  ['a NUL in its address', 'source_url = "http://x/\\0"', 'source_url must not contain NUL characters'],
  ['a name without end', 'source_id = string.rep("x", 1025)', 'source_id has more than 1024 bytes'],
  ['a name that is a table', 'source_id = {}', 'source_id'],
  ['a list as metadata', 'metadata_json = "[1]"', 'metadata_json must be a JSON object'],
])('an item with %s is skipped', async (_, field, reason) => {
  const scan = `function connector.scan() local bad = { source_id = "bad", body = "x" } ${field.replace(/^/, 'bad.')} return { bad, { source_id = "good", body = "x" } } end`;
  const { items, problems } = await scanScript(optionsOf(scan));
  expect(items.map(({ source_id }) => source_id)).toEqual(['good']);
  expect(problems).toMatchObject([{ reason: expect.stringContaining(reason) }]);
});

test('a scan that never ends is stopped', async () => {
  const endless = 'function connector.scan() while true do end end';
  await expect(scanScript(optionsOf(endless, { timeout: 0.2 }))).rejects.toMatchObject({ code: 'timeout' });
  const flood =
    'function connector.scan() local t = {} for i = 1, 1e5 do t[i] = { source_id = "" .. i, body = "" } end return t end';
  await expect(scanScript(optionsOf(flood, { timeout: 30 }))).rejects.toThrow('has more than 200000 values');
});

test("a connector lists and reads the script's items, with a version of their whole content", async () => {
  const list = async (body: string) => {
    const connector = scriptConnector(
      'script:c',
      optionsOf(`function connector.scan() return { { source_id = "a.md", ${body} }, {} } end`),
    );
    const unlisted: string[] = [];
    const listing = {
      checkpoint: null,
      signal: new AbortController().signal,
      onUnlisted: (name: string) => void unlisted.push(name),
    };
    const items: Item[] = [];
    for await (const page of connector.list(listing)) items.push(...page);
    return { items, unlisted, read: () => connector.read(items[0] as never) };
  };
  const first = await list('body = "x", title = "T"');
  expect(first).toMatchObject({ items: [{ sourceId: 'a.md', size: 1, updatedAt: null }], unlisted: ['item 2'] });
  expect(await first.read()).toMatchObject({ bytes: Buffer.from('x'), title: 'T', metadata: {} });
  expect((await list('body = "x", title = "T"')).items).toEqual(first.items);
  expect((await list('body = "x", title = "U"')).items[0]?.version).not.toBe(first.items[0]?.version);
});

test('an error of the script is an error of the source', async () => {
  await expect(scanScript(optionsOf('function connector.scan() return 1 end'))).rejects.toThrow('must return a list');
  await expect(scanScript(optionsOf('function connector.scan() error("x") end'))).rejects.toMatchObject({
    code: 'script_error',
  });
  await expect(scanScript(optionsOf('', { path: join(cwd, 'gone.lua') }))).rejects.toThrow('there is no such file');
});

test('content_type decides how an item is read, in a sync', async () => {
  const html =
    '<html><head><title>Page</title><script>var secretjs = 1</script></head><body><h1>Deploy</h1><p>Use it.</p></body></html>';
  const options = optionsOf(`function connector.scan()
    return {
      { source_id = "12345", body = [[${html}]], content_type = "text/html; charset=utf-8" },
      { source_id = "67890", body = "# Guide\\n\\nalpha\\n\\n## Setup\\n\\nbeta", content_type = "text/markdown" },
      { source_id = "logo.png", body = "# Logo", content_type = "text/markdown" },
      { source_id = "note", body = "# not a heading" },
      { source_id = "raw.md", body = "# plain", content_type = "text/plain" },
    }
  end`);
  const store = await openStore({ path: ':memory:' });
  writeTwice(store);
  const extractor = new Extractor();
  onTestFinished(async () => {
    await extractor.close();
    await store.close();
  });
  const skips: string[] = [];
  await syncSource({
    store,
    connector: scriptConnector('script:c', options),
    indexer: { extractor, limits: { maxTokens: 100, overlapTokens: 10 }, clock: Date.now },
    scope: {},
    dryRun: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    onSkip: (sourceId, reason) => void skips.push(`${sourceId}: ${reason}`),
  });
  expect(skips).toEqual([]);
  const read = (sourceId: string) =>
    store.read(async (tx) => {
      const row = await tx.documents.getDocumentOf({ source: 'script:c', sourceId });
      const chunks = row ? await tx.documents.listChunks({ documentId: row.id }) : [];
      return {
        type: row?.contentType,
        title: row?.title,
        body: row?.body,
        places: chunks.map(({ place }) => place.headings),
      };
    });
  const page = await read('12345');
  expect(page).toMatchObject({ type: 'text/html', title: 'Page' });
  expect(page.body).toContain('Deploy');
  expect(page.body).not.toContain('secretjs');
  expect(await read('67890')).toMatchObject({ type: 'text/markdown', title: 'Guide', places: [['Guide']] });
  expect(await read('note')).toMatchObject({ type: 'text/plain', title: 'note', places: [[]] });
  expect(await read('logo.png')).toMatchObject({ type: 'text/markdown', title: 'Logo' });
  expect(await read('raw.md')).toMatchObject({ type: 'text/plain', places: [[]] });
});
