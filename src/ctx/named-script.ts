import { basename, extname, resolve } from 'node:path';
import { SubstratError } from '../core/errors.ts';

/** Whether an argument is a file rather than a configured name, which contains neither `/` nor `.lua`. */
export function isPath(text: string): boolean {
  return text.includes('/') || extname(text) === '.lua';
}

/**
 * A script that a person named by its file. `source` is a table of the configuration whose keys it gets; without it,
 * the script has no settings. Naming a file allows it to run, like `--config`.
 */
export function scriptAt<Settings extends object>(
  path: string,
  tables: Readonly<Record<string, Settings>>,
  { source, section }: { readonly source: string | undefined; readonly section: string },
): { readonly name: string; readonly path: string; readonly settings: Settings | null } {
  const settings = source === undefined ? null : (tables[source] ?? null);
  if (source !== undefined && settings === null) {
    throw new SubstratError('not_found', `There is no [${section}.${source}] in the configuration.`);
  }
  const name = source ?? basename(path, extname(path)).replace(/[^A-Za-z0-9_-]+/g, '-');
  return { name, path: resolve(path), settings };
}
