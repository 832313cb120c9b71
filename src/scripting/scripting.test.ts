import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Knowledge, SearchRequest } from '../core/knowledge.ts';
import { bodyOf, openScripting, scriptOf } from './scripting.testkit.ts';
import { openScripting as openPool, type Script, type ScriptCall } from './scripting.ts';

const scripting = openScripting();

function run(body: string, more: Partial<Script> = {}, call: Partial<ScriptCall> = {}): Promise<unknown> {
  return scripting.run(bodyOf(body, more), { method: 'resolve', args: [{}], context: { config: {} }, ...call });
}

describe('run()', () => {
  test("returns the table's fields and the names of its functions", async () => {
    const source = 'agent = { name = "a", tools = { "x" } } function agent.resolve() end return agent';
    await expect(scripting.run(scriptOf(source), null)).resolves.toEqual({
      name: 'a',
      tools: ['x'],
      functions: { resolve: true },
    });
  });

  test('copies any JSON value in and out', async () => {
    const key = fc.string({ unit: 'grapheme' }).filter((text) => text !== '__proto__' && !/^[1-9]\d*$/.test(text));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.boolean(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
        fc.string({ unit: 'grapheme' }),
        fc.array(tie('value'), { minLength: 1, maxLength: 5 }),
        fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(value, async (given) => {
        const back = await run('return args', {}, { args: [given] });
        expect(JSON.parse(JSON.stringify(back))).toEqual(JSON.parse(JSON.stringify(given)));
      }),
      { numRuns: 100 },
    );
  });

  test('serves more calls than there are threads, in sequence', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => run('return args', {}, { args: [i] })));
    expect(results).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test('a call that waits too long for a thread times out, and waiting calls are refused on close', async () => {
    const pool = openPool({ threads: 1 });
    const call = { method: 'resolve', args: [] };
    const busy = pool.run(bodyOf('while true do end', { timeoutMs: 60_000 }), call);
    const late = pool.run(bodyOf('return 1', { timeoutMs: 50 }), call);
    await expect(late).rejects.toMatchObject({ code: 'timeout', message: expect.stringContaining('did not start') });
    const waiting = pool.run(bodyOf('return 1'), call);
    const refused = expect(waiting).rejects.toMatchObject({ code: 'not_running' });
    const ended = expect(busy).rejects.toMatchObject({ code: 'script_error' });
    await pool.close();
    await Promise.all([
      refused,
      ended,
      expect(pool.run(bodyOf(''), call)).rejects.toThrow('the program is shutting down'),
    ]);
  });
});

describe('host modules', () => {
  test('json, base64 and crypto', async () => {
    const body = `return {
      json.encode({ a = { 1, 2.5, "x" }, b = true }), json.parse('{"x":[1,{"y":null}]}').x[1],
      base64.encode("\\0\\255"), #base64.decode("AP8="), base64.decode("AP8=") == "\\0\\255",
      crypto.sha256("abc"), crypto.hmac_sha256("key", "The quick brown fox jumps over the lazy dog"),
      select(2, pcall(json.parse, "{")),
    }`;
    expect(await run(body)).toEqual([
      '{"a":[1,2.5,"x"],"b":true}',
      1,
      'AP8=',
      2,
      true,
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
      expect.stringContaining('not valid JSON'),
    ]);
  });

  test('env has only the listed variables', async () => {
    const body = 'return { env.get("LISTED"), tostring(env.get("PATH")), tostring(env.get("constructor")) }';
    expect(await run(body, { env: { LISTED: 'yes' } })).toEqual(['yes', 'nil', 'nil']);
  });

  test('log and print write to the log, up to a limit', async () => {
    const lines: string[] = [];
    const log: ScriptCall['log'] = (level, message) => lines.push(`${level} ${message}`);
    await run('log.warn("w") print(1, nil, "x") for i = 1, 500 do log.debug(i) end', {}, { log });
    expect(lines.slice(0, 3)).toEqual(['warn w', 'info 1\tnil\tx', 'debug 1']);
    expect(lines).toHaveLength(200);
    expect(lines.at(-1)).toBe('warn further lines of this call are left out');
  });

  test('sleep sleeps', async () => {
    const start = performance.now();
    await run('sleep(0.05)');
    expect(performance.now() - start).toBeGreaterThan(49);
    await expect(run('sleep(-1)')).rejects.toThrow('sleep takes a number of seconds');
  });
});

describe('fs', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'substrat-script-'));
    mkdirSync(join(directory, 'in/deep'), { recursive: true });
    for (const name of ['in/a.md', 'in/deep/b.md', 'in/c.txt', 'secret']) writeFileSync(join(directory, name), name);
    const changed = new Date('2026-01-01T00:00:00Z');
    for (const name of ['in/a.md', 'in/deep/b.md', 'in/c.txt']) utimesSync(join(directory, name), changed, changed);
    execFileSync('mkfifo', [join(directory, 'in/fifo')]);
    symlinkSync('../secret', join(directory, 'in/link'));
    writeFileSync(join(directory, 'in/deep/huge'), '');
    truncateSync(join(directory, 'in/deep/huge'), 8 * 1024 * 1024 + 1);
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const inside = () => ({ directory: join(directory, 'in') });

  test("reads and lists the script's directory", async () => {
    const body = 'return { fs.read("deep/b.md"), fs.list(".", "**/*.md"), fs.list("deep", "*.md"), fs.list() }';
    const file = (path: string, size: number) => ({ path, size, modified: 1_767_225_600 });
    expect(await run(body, inside())).toEqual([
      'in/deep/b.md',
      [file('a.md', 7), file('deep/b.md', 12)],
      [file('b.md', 12)],
      [file('a.md', 7), file('c.txt', 8)],
    ]);
  });

  test('accepts a listed file as a path', async () => {
    const body = 'local f = fs.list()[1] return { fs.read(f), "at " .. f, f .. "!", tostring(f) }';
    expect(await run(body, inside())).toEqual(['in/a.md', 'at a.md', 'a.md!', 'a.md']);
  });

  test.each([
    ['fs.read("../secret")', 'is outside the script'],
    ['fs.read("link")', 'is outside the script'],
    ['fs.read("/etc/passwd")', 'is outside the script'],
    ['fs.read("gone")', 'gone does not exist in the script'],
    ['fs.read("deep")', 'deep cannot be read: it is not a regular file'],
    ['fs.read("fifo")', 'fifo cannot be read: it is not a regular file'],
    ['fs.read("deep/huge")', 'deep/huge cannot be read: it has more than'],
    ['fs.read({})', 'argument 1 must be a string'],
    ['fs.list("..")', 'is outside the script'],
    ['fs.list(".", "../*")', 'leads outside the script'],
    ['fs.list(".", "{..,x}/*")', ''],
  ])('%s is refused', async (expression, message) => {
    const result = await run(`return ${expression}`, inside()).catch((error) => error);
    // A pattern may match nothing; it never finds a file outside.
    if (message === '') expect(result).toEqual({});
    else expect(result).toMatchObject({ code: 'script_error', message: expect.stringContaining(message) });
    await expect(run('return fs.read("a.md")', { directory: null })).rejects.toThrow('does not have a directory');
  });
});

describe('http', () => {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      const { url = '', method, headers } = incoming;
      if (url.startsWith('/to?')) return outgoing.writeHead(302, { location: decodeURIComponent(url.slice(4)) }).end();
      if (url === '/round') return outgoing.writeHead(302, { location: '/round' }).end();
      if (url === '/big') return outgoing.end(Buffer.alloc(9 * 1024 * 1024));
      if (url === '/never') return;
      if (url === '/deep') {
        outgoing.writeHead(200, { 'content-type': 'application/json' });
        return outgoing.end('['.repeat(100_000) + ']'.repeat(100_000));
      }
      if (url === '/bytes') return outgoing.end(Buffer.of(0, 255, 10));
      const seen = {
        url,
        method,
        type: headers['content-type'],
        key: headers['x-key'],
        headers,
        body: `${Buffer.concat(chunks)}`,
      };
      outgoing.writeHead(url.startsWith('/teapot') ? 418 : 200, { 'content-type': 'application/json' });
      return outgoing.end(JSON.stringify(seen));
    });
  });
  let base: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const ask = (expression: string, more: Partial<Script> = {}) =>
    run(`return ${expression.replaceAll('BASE', base)}`, more) as Promise<Record<string, unknown>>;

  test('get, post and put', async () => {
    await expect(
      ask('http.get("BASE/x", { headers = { ["x-key"] = "k" }, params = { q = "a b" } })'),
    ).resolves.toMatchObject({
      status: 200,
      ok: true,
      json: { url: '/x?q=a+b', method: 'GET', key: 'k' },
      headers: { 'content-type': 'application/json' },
    });
    await expect(ask('http.post("BASE/x", { a = 1 })')).resolves.toMatchObject({
      json: { method: 'POST', type: 'application/json', body: '{"a":1}' },
    });
    await expect(ask('http.put("BASE/teapot", "text")')).resolves.toMatchObject({
      status: 418,
      ok: false,
      json: { method: 'PUT', body: 'text' },
    });
    await expect(ask('http.get("BASE/bytes").body == "\\0\\255\\n"')).resolves.toBe(true);
    await expect(ask('http.get("BASE/to?/x")')).resolves.toMatchObject({ json: { url: '/x' } });
  });

  test('has no json for a response that is nested too deep', async () => {
    await expect(ask('{ tostring(http.get("BASE/deep").json), #http.get("BASE/deep").body }')).resolves.toEqual([
      'nil',
      200_000,
    ]);
  });

  const credentials = ['authorization', 'cookie', 'x-api-key', 'private-token', 'x-amz-security-token', 'x-key'];
  const harmless = ['accept', 'accept-language', 'content-type', 'user-agent'];
  test('keeps only harmless headers on a redirect to another origin', async () => {
    const headers = [...credentials, ...harmless].map((name) => `["${name}"] = "${name} v"`).join(', ');
    const other = createServer((incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(incoming.headers));
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    const sent = async (target: string) =>
      (await ask(`http.get("BASE/to?${target}", { headers = { ${headers} } })`)).json as Record<string, unknown>;
    const kept = await sent(elsewhere);
    for (const name of credentials) expect(kept, name).not.toHaveProperty(name);
    for (const name of harmless) expect(kept[name]).toBe(`${name} v`);
    // And no other header names, except those that the connection itself needs.
    const own = ['host', 'connection', 'sec-fetch-mode', 'accept-encoding'];
    expect(Object.keys(kept).filter((name) => ![...harmless, ...own].includes(name))).toEqual([]);
    const near = (await sent('/x')).headers as Record<string, unknown>;
    for (const name of [...credentials, ...harmless]) expect(near[name]).toBe(`${name} v`);
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
  });

  test.each([
    ['http.get("BASE/x")', 'is not in the script\'s "network" list', ['api.example.com', '127.0.0.1']],
    ['http.get("BASE/to?http://localhost:1/")', 'localhost:1 is not in', null],
    ['http.get("BASE/to?https://example.com/")', 'redirects to another scheme', []],
    ['http.get("BASE/to?file:///etc/passwd")', 'must start with http', []],
    ['http.get("BASE/round")', 'redirects more than 5 times', []],
    ['http.get("file:///etc/passwd")', 'must start with http', []],
    ['http.get("BASE/big")', 'more than 8388608 bytes', []],
    ['http.get("BASE/never", { timeout = 0.05 })', 'cannot be reached', []],
    ['http.get("http://127.0.0.1:1/")', 'cannot be reached', []],
    ['http.get()', 'must start with http', []],
  ])('%s is refused', async (expression, message, listed) => {
    const host = base.slice('http://'.length);
    const network = listed === null ? [host] : listed.length === 0 ? null : listed;
    await expect(ask(expression, { network })).rejects.toMatchObject({
      code: 'script_error',
      message: expect.stringContaining(message),
    });
  });
});

describe('context', () => {
  const requests: SearchRequest[] = [];
  const result = {
    id: 'd1',
    score: 1,
    title: null,
    source: 's:x',
    source_id: 'a',
    updated_at: '',
    snippet: '',
    source_url: null,
  };
  const knowledge: Knowledge = {
    async search(request) {
      requests.push(request);
      return { results: [result] };
    },
    async get(id) {
      if (id !== 'd1') throw new Error(`There is no document ${id}.`);
      return {
        ...result,
        author: null,
        created_at: '',
        content_type: 'text/plain',
        body: 'the body',
        metadata: {},
        chunks: [],
      };
    },
    sources: async () => ({ sources: [{ name: 's:x', configured: true, healthy: true, notes: null }] }),
  };

  test('search has two forms and returns a plain list', async () => {
    const body = `
      local a = context.search({ query = "q", mode = "keyword", limit = 3, filters = { source = "x", tags = {} } })
      local b = context.search("q", { limit = 3, source = "x", mode = "keyword" })
      return { #a, a[1].id, tostring(a[1].title), #b, context.get(b[1].id).body, context.sources()[1].name }`;
    expect(await run(body, {}, { knowledge })).toEqual([1, 'd1', 'nil', 1, 'the body', 's:x']);
    const expected = { query: 'q', mode: 'keyword', limit: 3, filters: { source: 'x' } };
    expect(requests.map((request) => JSON.parse(JSON.stringify(request)))).toEqual([expected, expected]);
  });

  test.each([
    ['context.search()', 'needs a query'],
    ['context.search("q", { limit = -1 })', 'context.search: limit'],
    ['context.search("q", { nonsense = 1 })', 'nonsense'],
    ['context.get("d2")', 'test.lua:3: There is no document d2.'],
    ['context.get({})', 'takes the id of a document'],
  ])('%s is a script error', async (expression, message) => {
    await expect(run(`local x = ${expression} return x`, {}, { knowledge })).rejects.toMatchObject({
      code: 'script_error',
      message: expect.stringContaining(message),
    });
    expect(await run(`return (pcall(function() return ${expression} end))`, {}, { knowledge })).toBe(false);
  });
});
