import type { Environment } from '../core/environment.ts';
import { keyName, type Problem } from './report.ts';

/** What happens to a variable without a value or a default: an error, or its name is kept. */
export type Unset = 'error' | 'name';

/** No section nests this deep; a deeper document could overflow the stack. */
const maxDepth = 32;
const VARIABLE = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{/g;

/** The environment variables that a document's strings use, and the tables they are in. */
export function variablesOf(document: Record<string, unknown>): { readonly name: string; readonly table: string }[] {
  const found = new Map<string, string>();
  const visit = (value: unknown, path: readonly PropertyKey[]): void => {
    if (typeof value === 'string') {
      for (const [, name] of value.matchAll(VARIABLE)) {
        if (name !== undefined && !found.has(name)) found.set(name, `[${path.slice(0, -1).map(String).join('.')}]`);
      }
    } else if (typeof value === 'object' && value !== null && path.length <= maxDepth) {
      for (const [key, item] of Object.entries(value) as [string, unknown][]) visit(item, [...path, key]);
    }
  };
  visit(document, []);
  return [...found].map(([name, table]) => ({ name, table }));
}

/** Replaces `${NAME}` and `${NAME:-default}` in the strings of the named sections; `$${` stands for a plain `${`. */
export function expand(
  document: Record<string, unknown>,
  sections: readonly string[],
  env: Environment,
  unset: Unset = 'error',
) {
  const problems: Problem[] = [];

  function visit(value: unknown, path: readonly PropertyKey[]): unknown {
    const fail = (text: string, variable?: string) =>
      problems.push({ path, text: `${keyName(path)} ${text}`, ...(variable !== undefined && { variable }) });
    if (typeof value === 'string') return expandText(value, env, unset, fail);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    if (path.length > maxDepth) {
      fail('is nested too deep');
      return null;
    }
    if (Array.isArray(value)) return value.map((item: unknown, index) => visit(item, [...path, index]));
    if (Object.hasOwn(value, '__proto__')) fail('must not have a key "__proto__"');
    return mapEntries(value, (item, key) => visit(item, [...path, key]));
  }

  const value = mapEntries(document, (item, key) => (sections.includes(key) ? visit(item, [key]) : item));
  return { value, problems };
}

function expandText(
  text: string,
  env: Environment,
  unset: Unset,
  fail: (text: string, variable?: string) => void,
): string {
  return text.replace(VARIABLE, (match, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      fail('has "${" without a variable name; write "$${" for a literal "${"');
      return match;
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return value || fallback;
    if (value === undefined && unset === 'name') return name;
    if (value === undefined) fail(`needs the environment variable ${name}, which is not set`, name);
    return value ?? match;
  });
}

function mapEntries(table: object, change: (value: unknown, key: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).map(([key, value]: [string, unknown]) => [key, change(value, key)]));
}
