import { dirname, relative } from 'node:path';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import type { Script } from './scripting.ts';

/** A script of the configuration. */
export interface ScriptEntry {
  readonly path: string;
  readonly timeoutMs: number;
  /** The variables that `env.get` may read. */
  readonly env: readonly string[];
  readonly network: readonly string[] | null;
}

/** How a script's file is read: from disk, or from the trusted copy. */
export type ReadScript = (path: string) => Promise<string>;

/** Reads a script's file. */
export async function openScript(
  entry: ScriptEntry,
  global: string,
  { env, readScript: read }: { readonly env: Environment; readonly readScript: ReadScript },
): Promise<Script> {
  const { path, timeoutMs, network } = entry;
  return {
    name: shownPath(path),
    source: await read(path),
    global,
    directory: dirname(path),
    env: Object.fromEntries(entry.env.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]]))),
    network,
    timeoutMs,
  };
}

/** Follows symlinks, because the configuration names the file; only reads regular files. */
export async function readScript(path: string): Promise<string> {
  try {
    return readRegularText(path, { maxBytes: MAX_SCRIPT, links: 'follow' });
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    const problem = error.code === 'ENOENT' ? 'there is no such file' : error.message;
    throw new SubstratError('config', `${shownPath(path)}: ${problem}`);
  }
}

const MAX_SCRIPT = 8 * 1024 * 1024;

/** Relative to the working directory if the file is inside it. */
export function shownPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near === '' || near.startsWith('..') ? path : near;
}
