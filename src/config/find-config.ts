import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { homeConfig } from './home.ts';

export interface FoundConfig {
  /** Null: the defaults apply. */
  readonly file: string | null;
  /** `named` by the person; found in the current `directory`; in the `home`; `none`. */
  readonly how: 'named' | 'directory' | 'home' | 'none';
}

interface ConfigSearch {
  /** The value of `--config`. */
  readonly named: string | undefined;
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The files that `ctx` looks for in the current directory, in this order. */
const IN_DIRECTORY = ['ctx.toml', '.ctx/config.toml', 'config/ctx.toml'];

/** The configuration of `ctx`: the named one, otherwise that of the current directory, otherwise that of the home. */
export function findConfig({ named, cwd, home, env }: ConfigSearch): FoundConfig {
  const given = named ?? (env.CTX_CONFIG || undefined);
  if (given !== undefined) return { file: resolve(cwd, given), how: 'named' };
  const found = IN_DIRECTORY.map((path) => resolve(cwd, path)).find((path) => existsSync(path));
  if (found !== undefined) return { file: found, how: liesIn(home, found) ? 'home' : 'directory' };
  const own = homeConfig(home);
  return own === null ? { file: null, how: 'none' } : { file: own, how: 'home' };
}

/** Directly in the home, because agents write in directories below it. */
function liesIn(home: string, file: string): boolean {
  try {
    return dirname(realpathSync(file)) === realpathSync(home);
  } catch {
    return false;
  }
}
