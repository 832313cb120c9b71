import { keyName, type Problem } from './report.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** No section is nested as deep as this; a document that is would exhaust the stack. */
const maxDepth = 32;

/** Replaces `${NAME}` and `${NAME:-default}` in the strings of the named sections; `$${` stands for a plain `${`. */
export function expand(document: Record<string, unknown>, sections: readonly string[], env: Env) {
  const problems: Problem[] = [];

  function visit(value: unknown, path: readonly PropertyKey[]): unknown {
    const fail = (text: string) => problems.push({ path, text: `${keyName(path)} ${text}` });
    if (typeof value === 'string') return expandText(value, env, fail);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    if (path.length > maxDepth) {
      fail('is nested too deep');
      return null;
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (Object.hasOwn(value, '__proto__')) fail('must not have a key "__proto__"');
    return mapEntries(value, (item, key) => visit(item, [...path, key]));
  }

  const value = mapEntries(document, (item, key) => (sections.includes(key) ? visit(item, [key]) : item));
  return { value, problems };
}

function expandText(text: string, env: Env, fail: (text: string) => void): string {
  return text.replace(/\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{/g, (match, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      fail('has no variable after its "${"; write "$${" where the text itself is meant');
      return match;
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) fail(`needs the environment variable ${name}, which is not set`);
    return value ?? match;
  });
}

function mapEntries(table: object, change: (value: unknown, key: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value, key)]));
}
