import type * as z from 'zod';
import { shorten } from '../core/text.ts';
import type { Located, Path } from './locate.ts';
import { nearest } from './nearest.ts';
import { isSecret, knownKeys } from './schema.ts';

export interface Problem {
  readonly path: Path;
  readonly text: string;
  /** The environment variable that is not set, if that is the problem. */
  readonly variable?: string;
}

type Find = (path: Path) => Located;
type Issue = z.core.$ZodIssue;

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
};

/** The message for a value of the wrong type, if the schema has none of its own. */
export function typeMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  return issue.input === undefined ? 'is missing' : `must be ${typeNames[issue.expected] ?? issue.expected}`;
}

/** Turns zod issues into messages for the author of the file. */
export function describeIssues(issues: readonly Issue[], schema: z.ZodType, find: Find): Problem[] {
  return issues.flatMap((issue) => {
    const { path } = issue;
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys(schema, path);
      return issue.keys.map((key) => ({ path: [...path, key], text: unknownKey(key, path, known, find) }));
    }
    if (issue.code === 'invalid_key') return { path, text: `${tableName(path)}: ${issue.issues[0]?.message}` };
    return { path, text: `${keyName(path)} ${issue.message}${written(issue, schema, find)}` };
  });
}

/** The message for a whole file: one line per problem, in file order, only the first problem per key. */
export function listProblems(problems: readonly Problem[], file: string, find: Find): string {
  const byKey = Map.groupBy(problems, ({ path }) => JSON.stringify(path));
  return [...byKey.values()]
    .flatMap((found) => found.slice(0, 1))
    .map(({ path, text }) => ({ line: find(path).line, text }))
    .sort((a, b) => a.line - b.line)
    .map(({ line, text }) => `${file}:${line}: ${text.replace(/\p{Cc}/gu, ' ')}`)
    .join('\n');
}

/** As in `[daemon] slots` or `[sandbox] roots[1]`. */
export function keyName(path: Path): string {
  const last = path.findLastIndex((part) => typeof part === 'string');
  if (last <= 0) return tableName(path);
  const items = path.slice(last + 1).map((item) => `[${String(item)}]`);
  return `${tableName(path.slice(0, last))} ${plain(path[last] ?? '')}${items.join('')}`;
}

/** As in `[tools.script.jira]`. */
export function tableName(path: Path): string {
  return `[${path.map(plain).join('.')}]`;
}

function plain(part: PropertyKey): string {
  const text = String(part);
  return shorten(/^[\w-]+$/.test(text) ? text : JSON.stringify(text));
}

function unknownKey(key: string, path: Path, known: readonly string[], find: Find): string {
  const close = nearest(key, known);
  const shown = shorten(JSON.stringify(key));
  if (path.length > 0) return `unknown key ${shown} in ${tableName(path)}${close ? `; did you mean "${close}"?` : ''}`;
  const isSection = find([key]).text === 'a table';
  const what = isSection ? `unknown section ${tableName([key])}` : `unknown key ${shown} outside any section`;
  return `${what}${close ? `; did you mean [${close}]?` : ''}`;
}

/** Appends the actual value as written in the file, never with variables expanded. */
function written({ path, message }: Issue, schema: z.ZodType, find: Find): string {
  const { text, exact } = find(path);
  if (!exact || !message.startsWith('must') || isSecret(schema, path)) return '';
  return `; got ${shorten(text.replace(/:\/\/.*@/gs, '://…@').replace(/\s+/g, ' '))}`;
}
