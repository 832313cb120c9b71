import { createHash, createHmac } from 'node:crypto';
import { globSync, realpathSync, statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { parseBounded } from '../core/json-bounds.ts';
import { readRegularFile, UnreadableFile } from '../core/regular-file.ts';
import type { HttpAnswer } from './requests.ts';
import type { LogLevel, Script } from './script.ts';
import { Refused } from './values.ts';

/** The arguments of one host call, copied only when they are used. */
export interface Arguments {
  bytes(index: number): Uint8Array | null;
  value(index: number): unknown;
}

type Ask = (operation: string, args: readonly unknown[]) => unknown;

const MAX_FILE = 8 * 1024 * 1024;
const MAX_FILES = 10_000;
const HTTP_JSON = { bytes: MAX_FILE, entries: 200_000, depth: 64 };
const MAX_LINES = 200;
const MAX_LINE = 2_000;

/**
 * The host modules of a script. Calls that need neither the network nor the knowledge base run here, in the script's
 * thread.
 */
export function createOperations(script: Script, ask: Ask, log: (level: LogLevel, message: string) => void) {
  let lines = 0;

  const operations: Readonly<Record<string, (args: Arguments) => unknown>> = {
    'json.parse': (args) => parseJson(text(args, 1)),
    'json.encode': (args) => JSON.stringify(args.value(1)),
    'base64.encode': (args) => Buffer.from(bytes(args, 1)).toString('base64'),
    'base64.decode': (args) => Buffer.from(text(args, 1), 'base64'),
    'crypto.sha256': (args) => createHash('sha256').update(bytes(args, 1)).digest('hex'),
    'crypto.hmac_sha256': (args) => createHmac('sha256', bytes(args, 1)).update(bytes(args, 2)).digest('hex'),
    'env.get': (args) => {
      const name = text(args, 1);
      return Object.hasOwn(script.env, name) ? script.env[name] : null;
    },
    'fs.read': (args) => readInside(script.directory, text(args, 1)),
    'fs.list': (args) => listInside(script.directory, optionalText(args, 1) ?? '.', optionalText(args, 2) ?? '*'),
    sleep: (args) => {
      const seconds = args.value(1);
      if (typeof seconds !== 'number' || !(seconds >= 0)) throw new Refused('sleep takes a number of seconds');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(seconds * 1_000, 2 ** 31));
      return null;
    },
    log: (args) => {
      lines += 1;
      if (lines < MAX_LINES) log(args.value(1) as LogLevel, text(args, 2).slice(0, MAX_LINE));
      else if (lines === MAX_LINES) log('warn', 'further lines of this call are left out');
      return null;
    },
    http: (args) =>
      withJson(
        ask('http', [args.value(1), args.value(2), args.bytes(3) ?? args.value(3), args.value(4)]) as HttpAnswer,
      ),
    'context.search': (args) => ask('context.search', [args.value(1), args.value(2)]),
    'context.get': (args) => ask('context.get', [args.value(1)]),
    'context.sources': () => ask('context.sources', []),
  };

  return (operation: string, args: Arguments): unknown => operations[operation]?.(args);
}

/** `json` is null if the body is not JSON or exceeds a script's limits. */
function withJson(answer: HttpAnswer): HttpAnswer & { readonly json: unknown } {
  return { ...answer, json: /\bjson\b/.test(answer.headers['content-type'] ?? '') ? parsed(answer.body) : null };
}

function parsed(body: Uint8Array): unknown {
  try {
    return parseBounded(body, HTTP_JSON);
  } catch {
    return null;
  }
}

function text(args: Arguments, index: number): string {
  return new TextDecoder().decode(bytes(args, index));
}

function optionalText(args: Arguments, index: number): string | null {
  const content = args.bytes(index);
  return content === null ? null : new TextDecoder().decode(content);
}

function bytes(args: Arguments, index: number): Uint8Array {
  const content = args.bytes(index);
  if (content === null) throw new Refused(`argument ${index} must be a string`);
  return content;
}

function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new Refused(`not valid JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function readInside(directory: string | null, path: string): Uint8Array {
  const file = placeInside(directory, path);
  try {
    return readRegularFile(file, { maxBytes: MAX_FILE, links: { within: directory ?? '' } });
  } catch (error) {
    if (error instanceof UnreadableFile) throw new Refused(`${path} cannot be read: ${error.message}`);
    throw error;
  }
}

interface ListedFile {
  /** Relative to the listed directory. */
  readonly path: string;
  readonly size: number;
  /** Seconds since 1970. */
  readonly modified: number;
}

/** Sorted by path. */
function listInside(directory: string | null, path: string, pattern: string): ListedFile[] {
  const place = placeInside(directory, path);
  if (pattern.startsWith('/') || pattern.split('/').includes('..'))
    throw new Refused(`"${pattern}" leads outside the script's directory`);
  const found = globSync(pattern, { cwd: place, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => resolve(entry.parentPath, entry.name))
    // Braces and symlinks can also lead outside.
    .filter((file) => realpathSync(file).startsWith(place + sep));
  if (found.length > MAX_FILES) throw new Refused(`${path} has more than ${MAX_FILES} such files`);
  return found.sort().flatMap((file) => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats) return [];
    return { path: file.slice(place.length + 1), size: stats.size, modified: Math.floor(stats.mtimeMs / 1000) };
  });
}

/** Resolves a path with all symlinks; throws if it is outside the directory. */
function placeInside(directory: string | null, path: string): string {
  if (directory === null) throw new Refused('this script does not have a directory to read from');
  if (path.includes('\0')) throw new Refused('a path must not contain NUL characters');
  const root = realpathSync(directory);
  let place: string;
  try {
    place = realpathSync(resolve(root, path));
  } catch {
    throw new Refused(`${path} does not exist in the script's directory`);
  }
  if (place !== root && !place.startsWith(root + sep)) throw new Refused(`${path} is outside the script's directory`);
  return place;
}
