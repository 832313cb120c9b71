import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { keyName, type Problem } from './report.ts';

type Table = Readonly<Record<string, unknown>>;

/** The keys that name a file or a directory which must exist. */
const PATHS = [
  ['connectors', 'filesystem', '*', 'root'],
  ['connectors', 'script', '*', 'path'],
  ['tools', 'script', '*', 'path'],
  ['agents', 'script', '*', 'path'],
  ['agents', 'module', '*', 'path'],
];

const MOST_EXAMPLES = 3;

/**
 * Explains relative paths that were meant from the working directory, as Context Harness reads them: they do not exist
 * beside the configuration, but in the working directory. One problem for all of them.
 */
export function explainPaths(document: Table, base: string, cwd: string): Problem[] {
  if (base === cwd) return [];
  const wrong = PATHS.flatMap((pattern) => valuesAt(document, pattern, [])).flatMap(({ path, value }) => {
    if (typeof value !== 'string' || isAbsolute(value) || /^~(\/|$)|\$\{/.test(value)) return [];
    if (existsSync(resolve(base, value)) || !existsSync(resolve(cwd, value))) return [];
    return [{ path, better: `${keyName(path)} = "${relative(base, resolve(cwd, value)) || '.'}"` }];
  });
  const [first] = wrong;
  if (first === undefined) return [];
  const rest = wrong.length - MOST_EXAMPLES;
  const changes = wrong.slice(0, MOST_EXAMPLES).map(({ better }) => better);
  const list = `${changes.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  const text = `relative paths start at the configuration's directory ${base}, not at the working directory. Move the file to ${cwd}, or write ${list}`;
  return [{ path: first.path, text }];
}

function valuesAt(
  at: unknown,
  [key, ...rest]: readonly string[],
  path: readonly string[],
): { path: readonly string[]; value: unknown }[] {
  if (key === undefined) return [{ path, value: at }];
  if (typeof at !== 'object' || at === null) return [];
  const table = at as Table;
  const keys = key === '*' ? Object.keys(table) : Object.hasOwn(table, key) ? [key] : [];
  return keys.flatMap((name) => valuesAt(table[name], rest, [...path, name]));
}
