import type { LuaWasm } from 'wasmoon';

type Lua = InstanceType<typeof LuaWasm>;

/** The raw C API: the library's wrappers check every argument and truncate strings at a NUL. */
interface RawModule {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  _malloc(size: number): number;
  _free(pointer: number): void;
  _lua_absindex(state: number, index: number): number;
  _lua_checkstack(state: number, count: number): number;
  _lua_createtable(state: number, listed: number, keyed: number): void;
  _lua_isinteger(state: number, index: number): number;
  _lua_next(state: number, index: number): number;
  _lua_pushboolean(state: number, value: number): void;
  _lua_pushinteger(state: number, value: bigint): void;
  _lua_pushlstring(state: number, pointer: number, length: number): number;
  _lua_pushnil(state: number): void;
  _lua_pushnumber(state: number, value: number): void;
  _lua_rawset(state: number, index: number): void;
  _lua_rawseti(state: number, index: number, key: bigint): void;
  _lua_settop(state: number, index: number): void;
  _lua_toboolean(state: number, index: number): number;
  _lua_tointegerx(state: number, index: number, isNumber: number): bigint;
  _lua_tolstring(state: number, index: number, lengthPointer: number): number;
  _lua_tonumberx(state: number, index: number, isNumber: number): number;
  _lua_topointer(state: number, index: number): number;
  _lua_type(state: number, index: number): number;
}

const TYPE = { none: -1, nil: 0, boolean: 1, number: 3, string: 4, table: 5 } as const;
const MAX_DEPTH = 64;
const MAX_VALUES = 200_000;

/** A value that cannot cross the boundary; the script gets an error. */
export class Refused extends Error {}

export interface Values {
  /** Copies the value at an index as null, booleans, numbers, strings, lists and objects without a prototype. */
  read(state: number, index: number): unknown;
  /** The bytes of a string; null if it is not a string. */
  readBytes(state: number, index: number): Uint8Array | null;
  /** Bytes become a string unchanged. */
  push(state: number, value: unknown): void;
}

/**
 * Copies values across the boundary, so that neither side ever holds an object of the other. The functions run inside
 * a protected call: Lua errors raised in them propagate unchanged.
 */
export function createValues(lua: Lua, mostBytes: () => number): Values {
  const raw = lua.module as unknown as RawModule;
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const lengthPointer = raw._malloc(4);

  const readBytes = (state: number, index: number) => {
    if (raw._lua_type(state, index) !== TYPE.string) return null;
    const pointer = raw._lua_tolstring(state, index, lengthPointer);
    const length = raw.HEAPU32[lengthPointer >> 2] ?? 0;
    if (length > mostBytes()) throw new Refused(`has more than ${mostBytes()} bytes`);
    return raw.HEAPU8.slice(pointer, pointer + length);
  };

  const read = (state: number, top: number) => {
    const path: number[] = [];
    let values = 0;
    let bytes = 0;
    return readAt(top);

    function readAt(index: number): unknown {
      if (++values > MAX_VALUES) throw new Refused(`has more than ${MAX_VALUES} values`);
      const type = raw._lua_type(state, index);
      if (type === TYPE.nil || type === TYPE.none) return null;
      if (type === TYPE.boolean) return raw._lua_toboolean(state, index) !== 0;
      if (type === TYPE.number) {
        const isInteger = raw._lua_isinteger(state, index) !== 0;
        return isInteger ? Number(raw._lua_tointegerx(state, index, 0)) : raw._lua_tonumberx(state, index, 0);
      }
      if (type === TYPE.string) return text(index);
      if (type === TYPE.table) return table(index);
      throw new Refused(`has a ${lua.lua_typename(state, type)} in it`);
    }

    function text(index: number): string {
      const content = readBytes(state, index) ?? new Uint8Array();
      bytes += content.length;
      if (bytes > mostBytes()) throw new Refused(`has more than ${mostBytes()} bytes`);
      return decoder.decode(content);
    }

    function table(index: number): unknown {
      const pointer = raw._lua_topointer(state, index);
      if (path.includes(pointer)) throw new Refused('contains a table that contains itself');
      if (path.length >= MAX_DEPTH) throw new Refused(`is nested deeper than ${MAX_DEPTH} tables`);
      if (raw._lua_checkstack(state, 8) === 0) throw new Refused('is nested too deep');
      path.push(pointer);
      const at = raw._lua_absindex(state, index);
      const entries: [unknown, unknown][] = [];
      raw._lua_pushnil(state);
      while (raw._lua_next(state, at) !== 0) {
        entries.push([readAt(-2), readAt(-1)]);
        // A key does not count as a value.
        values -= 1;
        raw._lua_settop(state, -2);
      }
      path.pop();
      return toContainer(entries);
    }
  };

  const push = (state: number, value: unknown): void => {
    if (raw._lua_checkstack(state, 8) === 0) throw new Refused('is nested too deep');
    if (value === null || value === undefined) raw._lua_pushnil(state);
    else if (typeof value === 'boolean') raw._lua_pushboolean(state, value ? 1 : 0);
    else if (typeof value === 'number') {
      if (Number.isSafeInteger(value)) raw._lua_pushinteger(state, BigInt(value));
      else raw._lua_pushnumber(state, value);
    } else if (typeof value === 'string') pushBytes(state, encoder.encode(value));
    else if (value instanceof Uint8Array) pushBytes(state, value);
    else if (Array.isArray(value)) {
      raw._lua_createtable(state, value.length, 0);
      for (const [index, item] of (value as unknown[]).entries()) {
        push(state, item);
        raw._lua_rawseti(state, -2, BigInt(index + 1));
      }
    } else {
      const entries: [string, unknown][] = Object.entries(value);
      raw._lua_createtable(state, 0, entries.length);
      for (const [key, item] of entries) {
        push(state, key);
        push(state, item);
        raw._lua_rawset(state, -3);
      }
    }
  };

  const pushBytes = (state: number, content: Uint8Array) => {
    const pointer = raw._malloc(content.length + 1);
    if (pointer === 0) throw new Refused('does not fit into memory');
    try {
      raw.HEAPU8.set(content, pointer);
      raw._lua_pushlstring(state, pointer, content.length);
    } finally {
      raw._free(pointer);
    }
  };

  return { read, readBytes, push };
}

/** A table with the keys 1 to n is a list, any other an object. An empty table is ambiguous and becomes an object. */
function toContainer(entries: readonly [unknown, unknown][]): unknown {
  const isList =
    entries.length > 0 &&
    entries.every(([key]) => typeof key === 'number' && Number.isInteger(key) && key >= 1 && key <= entries.length);
  if (isList) return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
  const object: Record<string, unknown> = Object.create(null);
  // Lua tables are unordered; sorting makes equal tables equal texts.
  for (const [key, value] of entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))) {
    if (typeof key !== 'string' && typeof key !== 'number') throw new Refused(`has a key that is a ${typeof key}`);
    if (key === '__proto__') throw new Refused('has a key "__proto__"');
    object[key] = value;
  }
  return object;
}
