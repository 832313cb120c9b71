import type { LuaWasm } from 'wasmoon';

type Lua = InstanceType<typeof LuaWasm>;

/** What of the C API takes and gives texts as pointers; the library's own wrappers end a text at its first NUL. */
interface RawModule {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  _malloc(size: number): number;
  _free(pointer: number): void;
  _lua_tolstring(state: number, index: number, lengthPointer: number): number;
  _lua_pushlstring(state: number, pointer: number, length: number): number;
}

const TYPE = { none: -1, nil: 0, boolean: 1, number: 3, string: 4, table: 5 } as const;
const MAX_DEPTH = 64;
const MAX_VALUES = 500_000;

/** A value that stays inside: it goes to the script as an error. */
export class Refused extends Error {}

export interface Values {
  /** A copy of the value at an index, made of null, booleans, numbers, strings, lists and objects without a prototype. */
  read(state: number, index: number): unknown;
  /** The bytes of a string, null when it is none. */
  readBytes(state: number, index: number): Uint8Array | null;
  /** Bytes become a string as they are. */
  push(state: number, value: unknown): void;
}

/**
 * Copies values over the boundary, so that no object of ours is ever in a script's hands, nor one of its in ours.
 * The functions are called inside a protected call: an error that Lua raises in them passes through as it is.
 */
export function createValues(lua: Lua, mostBytes: () => number): Values {
  const raw = lua.module as unknown as RawModule;
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const lengthPointer = raw._malloc(4);

  const readBytes = (state: number, index: number) => {
    if (lua.lua_type(state, index) !== TYPE.string) return null;
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
      const type = lua.lua_type(state, index);
      if (type === TYPE.nil || type === TYPE.none) return null;
      if (type === TYPE.boolean) return lua.lua_toboolean(state, index) !== 0;
      if (type === TYPE.number) {
        const isInteger = lua.lua_isinteger(state, index) !== 0;
        return isInteger ? Number(lua.lua_tointegerx(state, index, null)) : lua.lua_tonumberx(state, index, null);
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
      const pointer = lua.lua_topointer(state, index);
      if (path.includes(pointer)) throw new Refused('has a table in it that contains itself');
      if (path.length >= MAX_DEPTH) throw new Refused(`is nested deeper than ${MAX_DEPTH} tables`);
      if (lua.lua_checkstack(state, 8) === 0) throw new Refused('is nested too deep');
      path.push(pointer);
      const at = lua.lua_absindex(state, index);
      const entries: [unknown, unknown][] = [];
      lua.lua_pushnil(state);
      while (lua.lua_next(state, at) !== 0) {
        entries.push([readAt(-2), readAt(-1)]);
        lua.lua_pop(state, 1);
      }
      path.pop();
      return toContainer(entries);
    }
  };

  const push = (state: number, value: unknown): void => {
    if (lua.lua_checkstack(state, 8) === 0) throw new Refused('is nested too deep');
    if (value === null || value === undefined) lua.lua_pushnil(state);
    else if (typeof value === 'boolean') lua.lua_pushboolean(state, value ? 1 : 0);
    else if (typeof value === 'number') {
      if (Number.isSafeInteger(value)) lua.lua_pushinteger(state, BigInt(value));
      else lua.lua_pushnumber(state, value);
    } else if (typeof value === 'string') pushBytes(state, encoder.encode(value));
    else if (value instanceof Uint8Array) pushBytes(state, value);
    else if (Array.isArray(value)) {
      lua.lua_createtable(state, value.length, 0);
      for (const [index, item] of value.entries()) {
        push(state, item);
        lua.lua_rawseti(state, -2, BigInt(index + 1));
      }
    } else {
      const entries = Object.entries(value);
      lua.lua_createtable(state, 0, entries.length);
      for (const [key, item] of entries) {
        push(state, key);
        push(state, item);
        lua.lua_rawset(state, -3);
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

/** A table with the keys 1 to n is a list, any other an object; an empty one could be both and is an object. */
function toContainer(entries: readonly [unknown, unknown][]): unknown {
  const isList =
    entries.length > 0 &&
    entries.every(([key]) => typeof key === 'number' && Number.isInteger(key) && key >= 1 && key <= entries.length);
  if (isList) return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
  const object: Record<string, unknown> = Object.create(null);
  // Lua has no order; with one, the same table is the same text every time.
  for (const [key, value] of entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))) {
    if (typeof key !== 'string' && typeof key !== 'number') throw new Refused(`has a key that is a ${typeof key}`);
    if (key === '__proto__') throw new Refused('has a key "__proto__"');
    object[key] = value;
  }
  return object;
}
