import { type Problem, tableName } from './report.ts';

/** Something that the configuration describes and that cannot be used, because a variable that it needs is not set. */
export interface Disabled {
  /** `[tools.script.jira]` */
  readonly table: string;
  readonly path: readonly string[];
  readonly variables: readonly string[];
}

/** The sections whose entries can be left out, and where in the path the name of an entry is. */
const ENTRIES: Readonly<Record<string, (path: readonly string[]) => number>> = {
  agents: ([, kind = '']) => (['inline', 'script', 'module'].includes(kind) ? 3 : 2),
  connectors: () => 3,
  embedding: () => 1,
  notify: () => 1,
  registries: () => 2,
  tools: () => 3,
};

/**
 * Removes what needs an unset variable. In other sections it stays an error: without its `[db]` the daemon would
 * write another store, without a policy or `[sandbox]` agents would be less restricted.
 */
export function disableUnset(
  value: Record<string, unknown>,
  { problems, unused }: { readonly problems: readonly Problem[]; readonly unused: readonly string[] },
) {
  const used = problems.filter(({ path, variable }) => !variable || !unused.includes(String(path[0])));
  const byEntry = Map.groupBy(used, ({ path, variable }) => (variable ? entryOf(path.map(String)) : null));
  const rest = byEntry.get(null) ?? [];
  byEntry.delete(null);
  const disabled: Disabled[] = [];
  for (const [key, found] of byEntry) {
    const path = JSON.parse(key ?? '[]') as string[];
    const table = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], value);
    delete (table as Record<string, unknown>)[path.at(-1) ?? ''];
    const variables = [...new Set(found.flatMap(({ variable }) => variable ?? []))];
    disabled.push({ table: tableName(path), path, variables });
  }
  return { disabled, problems: rest };
}

/** As in "[tools.script.jira] is disabled: the environment variable JIRA_TOKEN is not set". */
export function describeDisabled({ table, variables }: Disabled): string {
  const [names, are] = [variables.join(', '), variables.length === 1 ? 'is' : 'are'];
  return `${table} is disabled: the environment variable${variables.length === 1 ? '' : 's'} ${names} ${are} not set`;
}

function entryOf(path: readonly string[]): string | null {
  const [section = ''] = path;
  const length = Object.hasOwn(ENTRIES, section) ? (ENTRIES[section]?.(path) ?? 0) : 0;
  return length > 0 && path.length > length - 1 ? JSON.stringify(path.slice(0, length)) : null;
}
