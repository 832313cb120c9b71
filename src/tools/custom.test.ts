import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { documentsInMemory } from '../../test/helpers/knowledge.ts';
import { loadConfig } from '../config/config.ts';
import { readScript } from '../scripting/open.ts';
import { openScripting } from '../scripting/scripting.testkit.ts';
import { type CustomToolOptions, createCustomTools } from './custom.ts';

const scripting = openScripting();
const knowledge = documentsInMemory({ Ticket: 'how to write a ticket' });
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'substrat-tools-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function toolsOf(files: Readonly<Record<string, string>>, more: Partial<CustomToolOptions> = {}) {
  for (const [name, text] of Object.entries({ 'substrat.toml': '', ...files })) writeFileSync(join(cwd, name), text);
  const read = () => {
    const config = loadConfig({ file: 'substrat.toml', cwd, home: cwd, env: {} });
    return { entries: config.tools, file: config.file };
  };
  const log = () => undefined;
  return createCustomTools({
    read,
    code: [],
    reserved: ['search'],
    scripting,
    env: {},
    readScript,
    knowledge,
    log,
    ...more,
  });
}

const script = `
tool = {
  name = "create_ticket",
  description = "Creates a ticket",
  parameters = {
    { name = "title", type = "string", required = true, description = "What it is about" },
    { name = "priority", type = "string", enum = { "low", "high" }, default = "low" },
    { name = "count", type = "integer" },
  },
}
function tool.execute(params, context)
  if params.title == "fail" then error("on purpose") end
  if params.title == "loop" then while true do end end
  local found = context.search("ticket")
  return { title = params.title, priority = params.priority, url = context.config.url, found = #found, sources = #context.sources() }
end
return tool`;

describe('a script tool', () => {
  const settings = (timeout: number) =>
    `[tools.script.create_ticket]\npath = "t.lua"\ntimeout = ${timeout}\nurl = "http://tickets"`;
  const files = { 'substrat.toml': settings(30), 't.lua': script };

  test("publishes its parameters, validates them, and returns the script's result", async () => {
    const tools = await toolsOf(files);
    expect(tools.problems()).toEqual([]);
    const tool = tools.find('create_ticket');
    if (tool === null) throw new Error('There is no tool.');
    expect(tool).toMatchObject({ name: 'create_ticket', description: 'Creates a ticket', source: 'lua' });
    expect(z.toJSONSchema(tool.input, { io: 'input' })).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        title: { type: 'string', description: 'What it is about' },
        priority: { type: 'string', enum: ['low', 'high'], default: 'low' },
        count: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      },
      required: ['title'],
      additionalProperties: false,
    });
    await expect(tool.call({ title: 'x' })).resolves.toEqual({
      title: 'x',
      priority: 'low',
      url: 'http://tickets',
      found: 1,
      sources: 1,
    });
  });

  test.each([
    [{}, 'bad_request', 'create_ticket: title'],
    [{ title: 1 }, 'bad_request', 'title'],
    [{ title: 'x', priority: 'urgent' }, 'bad_request', 'priority'],
    [{ title: 'x', count: 1.5 }, 'bad_request', 'count'],
    [{ title: 'x', other: 1 }, 'bad_request', 'other'],
    [[], 'bad_request', 'create_ticket'],
    [{ title: 'fail' }, 'tool_error', 't.lua:12: on purpose'],
    [{ title: 'loop' }, 'timeout', 'timed out after 0.3 s'],
  ])('called with %j fails with %s', async (params, code, message) => {
    // Only the call that should time out gets a short limit, because everything may be slow on a busy machine.
    const tools = await toolsOf(code === 'timeout' ? { ...files, 'substrat.toml': settings(0.3) } : files);
    await expect(tools.find('create_ticket')?.call(params)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  test.each([
    ['tool = { parameters = { { name = "a b" } } } function tool.execute() end', 'must be 1 to 64 letters'],
    ['tool = { parameters = { { name = "a", type = "date" } } } function tool.execute() end', 'type'],
    ['tool = {}', 'does not define the function tool.execute'],
    ['nonsense', 'syntax error'],
  ])('%s does not load', async (source, message) => {
    const tools = await toolsOf({ ...files, 't.lua': source });
    expect(tools.list()).toEqual([]);
    expect(tools.problems()).toEqual([expect.stringContaining(message)]);
  });

  test('refuses endlessly nested parameters', async () => {
    const deep =
      'tool = { parameters = { { name = "a", type = "array" }, { name = "o", type = "object" } } } function tool.execute() return 1 end';
    const tool = (await toolsOf({ ...files, 't.lua': deep })).find('create_ticket');
    const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;
    await expect(tool?.call({ a: nested(64), o: { a: nested(63) } })).resolves.toBe(1);
    for (const depth of [65, 5_000, 100_000]) {
      const refused = { code: 'bad_request', message: expect.stringContaining('must not be nested deeper than 64') };
      await expect(tool?.call({ a: nested(depth) })).rejects.toMatchObject(refused);
      await expect(tool?.call({ o: { a: nested(depth) } })).rejects.toMatchObject(refused);
    }
  });

  test('cannot use the name of another tool', async () => {
    const tools = await toolsOf({ ...files, 'substrat.toml': '[tools.script.Search]\npath = "t.lua"' });
    expect(tools.problems()).toEqual(['[tools.script.Search]: a tool with this name exists already.']);
  });

  test('has another version when its script changes, and the same one otherwise', async () => {
    const tools = await toolsOf(files);
    const version = () => tools.find('create_ticket')?.version;
    const first = version();
    await tools.reload();
    expect(version()).toBe(first);
    const changed = 'tool = { parameters = {} } function tool.execute() return "other" end';
    writeFileSync(join(cwd, 't.lua'), changed);
    await tools.reload();
    expect(version()).toMatch(/^[\w-]{43}$/);
    expect(version()).not.toBe(first);
  });

  test('keeps its last good version', async () => {
    const tools = await toolsOf(files);
    writeFileSync(join(cwd, 't.lua'), 'nonsense');
    await tools.reload();
    expect(tools.problems()).toHaveLength(1);
    await expect(tools.find('create_ticket')?.call({ title: 'x' })).resolves.toMatchObject({ title: 'x' });
  });
});

describe('a tool in code', () => {
  test('is validated and called like a script', async () => {
    const tools = await toolsOf(
      {},
      {
        code: [
          {
            name: 'shout',
            description: 'Says it louder',
            parameters: [{ name: 'text', required: true }],
            execute: async ({ text }, context) => ({
              text: `${text}!`,
              found: (await context.search('ticket')).length,
            }),
          },
        ],
      },
    );
    await expect(tools.find('shout')?.call({ text: 'x' })).resolves.toEqual({ text: 'x!', found: 1 });
    await expect(tools.find('shout')?.call({})).rejects.toMatchObject({ code: 'bad_request' });
    await expect(
      toolsOf({}, { code: [{ name: 'SEARCH', description: '', execute: () => null }] }),
    ).rejects.toMatchObject({ code: 'name_taken' });
  });
});
