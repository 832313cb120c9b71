import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { createConfigReader } from './config-reader.ts';
import { variablesOf } from './expand.ts';
import { parseSource, readSource } from './read.ts';

/** A command that asks a running process to work for it: everything that decides which configuration it would read. */
export interface Asker {
  readonly cwd: string;
  /** The value of `--config` or `$CTX_CONFIG`; null if there is none. */
  readonly named: string | null;
  readonly trust: boolean;
  readonly userHome: string;
  /** The text of its configuration; null if it has none. */
  readonly source: string | null;
}

/**
 * Whether the asker would search the same store with the same `[retrieval]` and `[embedding]` as a process that runs
 * with `own`. Returns what the asker would print about its configuration; null if they differ, if the configuration
 * depends on the asker's environment, or if it cannot be used, which the asker then finds out itself.
 */
export function readFor(asker: Asker, home: string, own: Config): readonly string[] | null {
  const { cwd, named, trust, userHome } = asker;
  const said: string[] = [];
  try {
    const reader = createConfigReader({
      ...{ cwd, home, named: named ?? undefined, trust, env: { HOME: userHome } },
      say: (message) => said.push(message),
      warn: () => {},
      readScript: async (path) => Promise.reject(new Error(`${path} is not needed for a search`)),
    });
    const config = reader.load();
    // The asker prints its warnings itself.
    if (config.warnings.length > 0) return null;
    return isOfAsker(config, asker) && isSame(config, own) ? said : null;
  } catch {
    return null;
  }
}

/** The file may be another one: containers can share a home without sharing the directory of the configuration. */
function isOfAsker({ file }: Config, { source }: Asker): boolean {
  if (file === null) return source === null;
  const text = readSource(file, file);
  return text === source && variablesOf(parseSource(text, file)).length === 0;
}

function isSame(config: Config, own: Config): boolean {
  if ('path' in own.db && own.db.path === ':memory:') return false;
  return (['db', 'retrieval', 'embedding'] as const).every((section) =>
    isDeepStrictEqual(config[section], own[section]),
  );
}
