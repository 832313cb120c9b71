/** What can be known about a statement by its text. */
interface About {
  readonly read: boolean;
  /** All that it reads or changes. */
  readonly tables: ReadonlySet<string>;
  readonly changed: ReadonlySet<string>;
}

const known = new Map<string, About>();

/** Some queries depend on the length of a list. */
const MOST_KNOWN = 5_000;

/** Statements are few and come from the query builder, which quotes every name. */
export function about(sql: string): About {
  let found = known.get(sql);
  if (!found) {
    const read = /^(select|with)\b/.test(sql) && !/\b(insert|update|delete|nextval|pg_advisory\w+)\b/.test(sql);
    const names = (pattern: RegExp) => new Set([...sql.matchAll(pattern)].map(([, name]) => name as string));
    const tables = names(/\b(?:from|join|update|into)\s+"?(\w+)/g);
    for (const part of names(/(?:\bwith|\brecursive|,)\s+"(\w+)"(?:\([^)]*\))? as \(/g)) tables.delete(part);
    const changed = names(/\b(?:update|into|delete from)\s+"?(\w+)/g);
    // The only rows that are deleted with others.
    if (changed.has('budgets')) changed.add('charges');
    found = { read, tables, changed };
    if (known.size < MOST_KNOWN) known.set(sql, found);
  }
  return found;
}
