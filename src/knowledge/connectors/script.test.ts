import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openScripting } from '../../scripting/scripting.testkit.ts';
import type { Item } from '../connector.ts';
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
  return { scripting, settings: { path, timeout: 5, ...settings }, env: { TOKEN: 'secret' }, log: () => undefined };
};

test('a script gives items; a bad one is reported and left out', async () => {
  const options = optionsOf(
    `function connector.scan(config)
      return {
        { source_id = "a", body = "A", title = "T", content_type = "text/markdown", source_url = "http://x", author = "me",
          created_at = "2026-01-01T00:00:00Z", updated_at = 1767225600, metadata_json = json.encode({ k = config.key }) },
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
    'b: there is another item with this source_id',
    expect.stringContaining('item 4: source_id'),
    expect.stringContaining('c: body'),
    'd: updated_at is no time',
    'e: metadata_json must be a JSON object',
    expect.stringContaining('item 8: '),
  ]);
});

test('a connector lists and reads what the script gave, with a version of everything in it', async () => {
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

test('what the script does wrong is an error of the source', async () => {
  await expect(scanScript(optionsOf('function connector.scan() return 1 end'))).rejects.toThrow('must return a list');
  await expect(scanScript(optionsOf('function connector.scan() error("x") end'))).rejects.toMatchObject({
    code: 'script_error',
  });
  await expect(scanScript(optionsOf('', { path: join(cwd, 'gone.lua') }))).rejects.toThrow('there is no such file');
});
