import type { RequestId } from '@modelcontextprotocol/server';

/** A call of a tool of which the protocol's library would use nothing but this. */
export interface PlainCall {
  readonly id: RequestId;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>> | undefined;
}

const MESSAGE_KEYS = new Set(['jsonrpc', 'id', 'method', 'params']);
const PARAMS_KEYS = new Set(['name', 'arguments', '_meta']);
const META_KEYS = new Set(['progressToken']);

/**
 * The call that a message of the protocol of 2025 is, if it is one in its plainest form: each part as the protocol's schema
 * has it, and no part that means anything to the library. Null for everything else, which is the library's to judge.
 */
export function asPlainCall(message: unknown): PlainCall | null {
  if (!isObject(message) || message.method !== 'tools/call' || message.jsonrpc !== '2.0') return null;
  const { id, params } = message;
  if (!isToken(id) || !isObject(params) || !hasOnly(message, MESSAGE_KEYS) || !hasOnly(params, PARAMS_KEYS))
    return null;
  const { name, arguments: args, _meta: meta } = params;
  if (typeof name !== 'string') return null;
  // The library drops a field of this name; JSON can have one.
  if (args !== undefined && (!isObject(args) || Object.hasOwn(args, '__proto__'))) return null;
  if (meta !== undefined && !(isObject(meta) && hasOnly(meta, META_KEYS) && isToken(meta.progressToken))) return null;
  return { id, name, args };
}

/** The id of the request that a notification takes back, if it is one that the library would understand. */
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
