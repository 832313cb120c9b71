import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { LuaWasm } from 'wasmoon';
import { createOperations } from './operations.ts';
import { prelude } from './prelude.ts';
import type { FromThread, ScriptJob, ScriptOutcome, ThreadData } from './protocol.ts';
import { createValues, Refused } from './values.ts';

const LIBRARIES = ['string', 'table', 'math', 'utf8', 'coroutine'] as const;
/** WebAssembly memory never shrinks, so a thread that used more than this is not reused. */
const SPENT_BYTES = 24 * 1024 * 1024;
const MAX_MESSAGE = 4_000;

interface Machine {
  /** `spent` requests a fresh thread. */
  run(job: ScriptJob): { readonly outcome: ScriptOutcome; readonly spent: boolean };
}

/**
 * Runs one Lua state at a time, a new one for each job. Does not use the library's engine, which passes proxies of
 * our objects to scripts.
 */
export function createMachine(
  lua: InstanceType<typeof LuaWasm>,
  { signal, memoryBytes, resultBytes }: ThreadData,
  port: MessagePort,
): Machine {
  const raw = lua.module as unknown as {
    readonly HEAPU8: Uint8Array;
    _malloc(size: number): number;
    _free(pointer: number): void;
    _luaL_loadbufferx(state: number, buffer: number, size: number, name: number, mode: number): number;
  } & Record<`_luaopen_${string}`, (state: number) => number>;
  let mostBytes = resultBytes;
  const values = createValues(lua, () => mostBytes);
  const code = cString(prelude);
  const codeLength = Buffer.byteLength(prelude);
  const codeName = cString('=substrat');
  const textOnly = cString('t');

  let used = 0;
  let starved = false;
  const allocate = lua.module.addFunction((_: number, pointer: number, oldSize: number, newSize: number) => {
    const had = pointer === 0 ? 0 : oldSize;
    if (newSize === 0) {
      used -= had;
      raw._free(pointer);
      return 0;
    }
    if (newSize > had && used + newSize - had > memoryBytes) {
      starved = true;
      return 0;
    }
    const moved = lua.module._realloc(pointer, newSize);
    if (moved !== 0) used += newSize - had;
    return moved;
  }, 'iiiii');

  let perform: (operation: string, state: number) => unknown = () => null;
  const host = lua.module.addFunction((state: number) => {
    try {
      const operation = values.read(state, 1);
      const value = perform(String(operation), state);
      lua.lua_settop(state, 0);
      lua.lua_pushboolean(state, 1);
      values.push(state, value);
    } catch (error) {
      // Lua's own jumps are thrown numbers and must propagate; so must errors that break the machine.
      if (!(error instanceof Error) || error.name === 'RuntimeError') throw error;
      lua.lua_settop(state, 0);
      lua.lua_pushboolean(state, 0);
      values.push(state, error.message.slice(0, MAX_MESSAGE));
    }
    return 2;
  }, 'ii');

  return { run };

  function run(job: ScriptJob) {
    used = 0;
    starved = false;
    mostBytes = job.script.resultBytes ?? resultBytes;
    let outcome: ScriptOutcome | null = null;
    const operations = createOperations(job.script, ask, (level, message) => say({ type: 'log', level, message }));
    perform = (operation, state) => {
      if (operation === 'job') return jobTable(job);
      if (operation === 'result') outcome = { ok: true, value: values.read(state, 2) };
      else if (operation === 'failed') outcome = { ok: false, message: String(values.read(state, 2)) };
      else {
        const count = lua.lua_gettop(state) - 1;
        const at = (index: number) => index + 1;
        return operations(operation, {
          bytes: (index) => values.readBytes(state, at(index)),
          value: (index) => (index > count ? null : values.read(state, at(index))),
        });
      }
      return null;
    };
    let broken = false;
    let problem = 'it ended without a result';
    try {
      problem = execute() ?? problem;
    } catch (error) {
      broken = true;
      problem = error instanceof Error ? error.message : 'Lua gave up';
    }
    const failure = (message: string): ScriptOutcome => ({
      ok: false,
      message: explain(message, starved, memoryBytes),
    });
    const given = outcome as ScriptOutcome | null;
    return {
      outcome: broken || given === null ? failure(problem) : given.ok ? given : failure(given.message),
      spent: broken || raw.HEAPU8.length > SPENT_BYTES,
    };
  }

  /** Returns an error outside of what the prelude protects. */
  function execute(): string | null {
    const state = lua.lua_newstate(allocate, null);
    if (state === 0) return 'not enough memory';
    raw._luaopen_base?.(state);
    for (const library of LIBRARIES) {
      raw[`_luaopen_${library}`]?.(state);
      lua.lua_setglobal(state, library);
    }
    lua.lua_settop(state, 0);
    raw._luaL_loadbufferx(state, code, codeLength, codeName, textOnly);
    lua.lua_pushcclosure(state, host, 0);
    const status = lua.lua_pcallk(state, 1, 0, 0, 0, null);
    const bytes = status === 0 ? null : values.readBytes(state, -1);
    lua.lua_close(state);
    return status === 0 ? null : new TextDecoder().decode(bytes ?? new Uint8Array());
  }

  /** Sleeps until the other side has replied. */
  function ask(operation: string, args: readonly unknown[]): unknown {
    Atomics.store(signal, 0, 0);
    say({ type: 'ask', operation, args });
    Atomics.wait(signal, 0, 0);
    const reply = receiveMessageOnPort(port)?.message as ScriptOutcome;
    if (!reply.ok) throw new Refused(reply.message);
    return reply.value;
  }

  function say(message: FromThread) {
    port.postMessage(message);
  }

  function cString(text: string): number {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const pointer = raw._malloc(bytes.length);
    raw.HEAPU8.set(bytes, pointer);
    return pointer;
  }
}

function jobTable({ script: { source, name, global }, call }: ScriptJob) {
  const shared = { source, name, global };
  if (call === null) return shared;
  const { method, args, context, config } = call;
  return { ...shared, method, args, count: args.length, context, config };
}

function explain(message: string, starved: boolean, memoryBytes: number): string {
  const limit = `the script exceeded its limit of ${Math.round(memoryBytes / 1024 / 1024)} MB of memory`;
  return starved && message.includes('not enough memory') ? limit : message.slice(0, MAX_MESSAGE);
}
