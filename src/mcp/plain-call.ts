import type { RequestId } from '@modelcontextprotocol/server';

/** A tool call with only the fields that the protocol library would use. */
export interface PlainCall {
  readonly id: RequestId;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>> | undefined;
}

const MESSAGE_KEYS = new Set(['jsonrpc', 'id', 'method', 'params']);
const PARAMS_KEYS = new Set(['name', 'arguments', '_meta']);
const META_KEYS = new Set(['progressToken']);

/**
 * Returns the call if a message of the 2025 protocol is a tool call in its plainest form: each field valid, and no
 * field that has a meaning for the library. Returns null for everything else, which is left to the library.
 */
export function asPlainCall(message: unknown): PlainCall | null {
  if (!isObject(message) || message.method !== 'tools/call' || message.jsonrpc !== '2.0') return null;
  const { id, params } = message;
  if (!isToken(id) || !isObject(params) || !hasOnly(message, MESSAGE_KEYS) || !hasOnly(params, PARAMS_KEYS))
    return null;
  const { name, arguments: args, _meta: meta } = params;
  if (typeof name !== 'string') return null;
  // The library drops a field of this name; JSON can contain one.
  if (args !== undefined && (!isObject(args) || Object.hasOwn(args, '__proto__'))) return null;
  if (meta !== undefined && !(isObject(meta) && hasOnly(meta, META_KEYS) && isToken(meta.progressToken))) return null;
  return { id, name, args };
}

/** The id of the request that a notification cancels, if the library would accept it. */
export function cancelledId(params: unknown): RequestId | null {
  if (!isObject(params) || !isToken(params.requestId)) return null;
  const { requestId, reason, _meta: meta } = params;
  const understood = (reason === undefined || typeof reason === 'string') && (meta === undefined || isObject(meta));
  return understood ? requestId : null;
}

function isToken(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasOnly(value: object, keys: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => keys.has(key));
}
