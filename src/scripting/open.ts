import { dirname, relative } from 'node:path';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import type { Script } from './scripting.ts';

/** A script as the configuration has it. */
export interface ScriptEntry {
  readonly path: string;
  readonly timeoutMs: number;
  /** The names that `env.get` knows. */
  readonly env: readonly string[];
  readonly network: readonly string[] | null;
}

/** How the file of a script is read: from the disk, or from what was trusted. */
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

/** Links are followed, because the configuration names the file; what is not a regular file is not read. */
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

/** Relative to the working directory where it lies in it. */
export function shownPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near === '' || near.startsWith('..') ? path : near;
}
