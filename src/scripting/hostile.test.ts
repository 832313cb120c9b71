import { describe, expect, test, vi } from 'vitest';
import { SubstratError } from '../core/errors.ts';
import { bodyOf, openScripting, scriptOf } from './scripting.testkit.ts';
import type { Script } from './scripting.ts';

const scripting = openScripting();
const LIMIT_MS = 400;
const call = { method: 'resolve', args: [{}], context: { config: {} } };

async function outcomeOf(script: Script) {
  const start = performance.now();
  const error = await scripting.run(script, call).then(
    (value) => ({ value }),
    (reason: unknown) => reason,
  );
  return { error, ms: performance.now() - start };
}

describe('a hostile script', () => {
  test.each([
    ['an endless loop', 'while true do end'],
    ['an endless loop by goto', '::again:: goto again'],
    ['an endless repeat', 'repeat until false'],
    ['an endless for', 'for i = 1, math.huge do end'],
    ['an endless tail call', 'local function f() return f() end return f()'],
    ['an endless pcall loop', 'while true do pcall(error, "x") end'],
    ['a loop that swallows every error', 'while true do pcall(function() while true do error({}) end end) end'],
    [
      'an endless coroutine',
      'local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do c() end',
    ],
    [
      'coroutines that make coroutines',
      'local function f() local c = coroutine.create(f) while true do coroutine.resume(c) end end f()',
    ],
    ['an endless iterator', 'for _ in function() return 1 end do end'],
    [
      'an endless metamethod',
      'local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x',
    ],
    [
      'an endless comparison in sort',
      'local t = {} for i = 1, 100 do t[i] = i end table.sort(t, function() while true do end end)',
    ],
    ['an endless error handler', 'xpcall(error, function() while true do end end)'],
    ['an endless __tostring', 'tostring(setmetatable({}, {__tostring = function() while true do end end}))'],
    ['an endless finalizer', 'setmetatable({}, {__gc = function() while true do end end}) collectgarbage() return 1'],
    ['an endless __close', 'local x <close> = setmetatable({}, {__close = function() while true do end end})'],
    ['a pathological pattern', 'return string.find(string.rep("a", 5000), string.rep("a-", 60) .. "b")'],
    ['a pathological gsub', 'return (string.rep("a", 3000)):gsub(string.rep("a*", 30) .. "b", "")'],
    ['a nap', 'sleep(3600)'],
    ['a memory bomb in pcall', 'while true do pcall(string.rep, "x", 1e9) end'],
    ['a flood of log lines', 'while true do log.info("x") end'],
    ['endless questions', 'while true do pcall(context.search, "x") end'],
    ['a load that never ends', 'load(function() return " " end)'],
    ['an endless table.move', 'table.move({}, 1, 1e15, 2)'],
    [
      'an endless __close of a coroutine',
      'local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c)',
    ],
    ['a finalizer that runs when all is over', 'setmetatable({}, {__gc = function() while true do end end}) return 1'],
  ])('%s ends with timeout', async (_name, source) => {
    const { error, ms } = await outcomeOf(bodyOf(source, { timeoutMs: LIMIT_MS }));
    expect(error).toMatchObject({ code: 'timeout', message: 'test.lua timed out after 0.4 s.' });
    // None of these ends by itself; a busy machine takes time to terminate a thread.
    expect(ms).toBeLessThan(LIMIT_MS + 5_000);
  });

  test.each([
    ['a string bomb', 'return string.rep("x", 1e9)', 'exceeded its limit of 64 MB of memory'],
    [
      'a string bomb by doubling',
      'local s = "x" while true do s = s .. s end',
      'exceeded its limit of 64 MB of memory',
    ],
    ['a table bomb', 'local t = {} while true do t[#t + 1] = {} end', 'exceeded its limit of 64 MB of memory'],
    [
      'a closure bomb',
      'local f = print while true do local g = f f = function() return g() end end',
      '64 MB of memory',
    ],
    ['a coroutine bomb', 'local t = {} while true do t[#t + 1] = coroutine.create(print) end', '64 MB of memory'],
    ['a format bomb', 'return string.format("%99999d", 1)', 'invalid conversion'],
    [
      'a concat bomb',
      'local t = {} for i = 1, 1000 do t[i] = string.rep("x", 65536) end return table.concat(t)',
      '64 MB of memory',
    ],
    ['endless recursion', 'local function f() return 1 + f() end return f()', 'stack overflow'],
    ['recursion through pcall', 'local function f() return pcall(f) and 1 end error(tostring(f()))', 'test.lua'],
    ['deep nesting in load', 'local f, m = load("return " .. string.rep("(", 1e5)) error(m)', 'overflow'],
    ['a deep pattern', 'return string.rep("(", 1e5):find(string.rep("(", 1e5))', 'too many captures'],
    [
      '100 MB as a result',
      'local s = string.rep("x", 1e6) local t = {} for i = 1, 100 do t[i] = s end return t',
      'has more than 8388608 bytes',
    ],
    [
      'a million values as a result',
      'local t = {} for i = 1, 1e6 do t[i] = 1 end return t',
      'has more than 200000 values',
    ],
    ['an exponential result', 'local t = {1} for i = 1, 60 do t = {t, t} end return t', 'has more than 200000 values'],
    ['a cycle', 'local t = {} t.t = t return t', 'contains itself'],
    ['a long cycle', 'local a, b = {}, {} a.b, b.a = b, a return a', 'contains itself'],
    ['a deep result', 'local t = {} for i = 1, 100 do t = {t} end return t', 'nested deeper than 64'],
    ['a function', 'return { f = print }', 'has a function in it'],
    ['a coroutine', 'return coroutine.create(print)', 'has a thread in it'],
    ['a table as a key', 'return { [{}] = 1 }', 'has a key that is a object'],
    ['__proto__', 'return { ["__proto__"] = { polluted = true } }', 'has a key "__proto__"'],
    [
      '__proto__ in an argument',
      'return context.search({ query = "x", ["__proto__"] = { limit = 1 } })',
      'has a key "__proto__"',
    ],
    ['an error', 'error("on purpose")', 'test.lua:3: on purpose'],
    ['an error without a place', 'error("on purpose", 0)', 'on purpose'],
    ['an error with a table', 'error({ message = "in a table" })', 'in a table'],
    ['an error with a trap', 'error(setmetatable({}, { __index = function() error("deeper") end }))', ''],
    [
      'an error that cannot be a text',
      'error(setmetatable({}, { __tostring = function() error("deeper") end }))',
      'it raised a table instead of a message',
    ],
    ['an error of megabytes', 'error(string.rep("m", 5e6), 0)', 'mmmm'],
    [
      'a yield from inside of C',
      'coroutine.wrap(function() table.sort({ 3, 2, 1 }, coroutine.yield) end)()',
      'attempt to yield across a C-call boundary',
    ],
    [
      'coroutines all the way down',
      'local function f(n) return coroutine.wrap(f)(n + 1) end return f(1)',
      'C stack overflow',
    ],
    ['recursion through gsub', 'local function f(s) return (s:gsub(".", f)) end return f("aa")', 'C stack overflow'],
    ['arguments that contain themselves', 'args.me = args return args', 'contains itself'],
    ['an error that is nil', 'error()', 'it raised a nil instead of a message'],
    ['a call of nothing', 'return nothing()', "attempt to call a nil value (global 'nothing')"],
    ['bytecode', 'local f, m = load("\\27Lua") error(m)', "attempt to load a binary chunk (mode is 't')"],
    [
      'bytecode by mode',
      'local f, m = load("\\27Lua", "x", "b") error(m)',
      "attempt to load a binary chunk (mode is 't')",
    ],
    [
      'bytecode by a function',
      'local n = 0 local f, m = load(function() n = n + 1 return n == 1 and "\\27Lua" or nil end, "x", "bt") error(m)',
      'binary chunk',
    ],
    ['string.dump', 'return string.dump(print)', "attempt to call a nil value (field 'dump')"],
    ['a metatable on strings', 'getmetatable("").__index = function() error("trap") end return ("x"):y()', 'trap'],
    ['a forged result', 'context.search = nil; return context.search("x")', 'attempt to call a nil value'],
  ])('%s ends with script_error', async (_name, source, message) => {
    const { error } = await outcomeOf(bodyOf(source));
    expect(error).toBeInstanceOf(SubstratError);
    expect(error).toMatchObject({ code: 'script_error', message: expect.stringContaining(message) });
  });

  test.each([
    ['bytecode as the script', '\u001bLua', "attempt to load a binary chunk (mode is 't')"],
    ['no Lua', 'this is not Lua', 'test.lua:1: syntax error near'],
    ['no table', 'x = 1', 'must set or return a table "agent"'],
    ['no function', 'agent = {}', 'does not define the function agent.resolve'],
    ['a trap for a global', 'setmetatable(_G, { __index = function() error("trap") end })', 'must set or return'],
  ])('%s ends with script_error', async (_name, source, message) => {
    const { error } = await outcomeOf(scriptOf(source));
    expect(error).toMatchObject({ code: 'script_error', message: expect.stringContaining(message) });
  });

  test('has no access to the host', async () => {
    const names = ['io', 'os', 'debug', 'package', 'require', 'dofile', 'loadfile', 'string.dump', 'process', 'js'];
    const body = `return { ${names.map((name) => `["${name}"] = tostring(${name})`).join(', ')} }`;
    const found = (await scripting.run(bodyOf(body), call)) as Record<string, string>;
    expect(Object.entries(found).filter(([, value]) => value !== 'nil')).toEqual([]);
    expect(Object.keys(found)).toHaveLength(names.length);
  });

  test.each([100, 5_000, 200_000])('does not get values nested %i deep where that would overflow', async (depth) => {
    let deep: unknown = [];
    for (let n = 1; n < depth; n += 1) deep = [deep];
    const given = scripting.run(bodyOf('return 1'), { ...call, args: [deep] });
    if (depth === 100) await expect(given).resolves.toBe(1);
    else await expect(given).rejects.toMatchObject({ code: 'script_error' });
    await expect(scripting.run(bodyOf('return 2'), call)).resolves.toBe(2);
  });

  test('leaves nothing behind for the next script', async () => {
    const spoil = 'x = 1 string.len = nil json.parse = nil getmetatable("").__index = {} return true';
    await expect(scripting.run(bodyOf(spoil), call)).resolves.toBe(true);
    const look = 'return { x == nil, ("a"):len(), json.parse("1") }';
    await expect(scripting.run(bodyOf(look), call)).resolves.toEqual([true, 1, 1]);
  });

  test("does not grow the process's memory", async () => {
    const bombs = [
      'return string.rep("x", 6e7)',
      'local t = {} for i = 1, 60 do t[i] = string.rep("x", 1e6) end while true do end',
      'local s = string.rep("x", 1e6) local t = {} for i = 1, 7 do t[i] = s end return t',
      'return json.parse(json.encode(string.rep("x", 8e6)))',
    ];
    const explode = async () => {
      for (const bomb of bombs) await outcomeOf(bodyOf(bomb, { timeoutMs: LIMIT_MS }));
      // The thread kept for the next script is a fresh one.
      await scripting.run(bodyOf('return 1'), call);
    };
    // Code that is loaded and compiled once does not count as growth.
    await explode();
    const before = process.memoryUsage().rss;
    for (let round = 0; round < 2; round++) await explode();
    await vi.waitFor(() => expect(process.memoryUsage().rss - before).toBeLessThan(20 * 1024 * 1024), {
      timeout: 15_000,
      interval: 100,
    });
  });
});
