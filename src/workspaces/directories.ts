import { existsSync, statSync } from 'node:fs';
import { lstat, mkdir, rmdir } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { between, isInside, isLink } from './paths.ts';

/** Answers how to undo it. */
type Made = () => Promise<void>;

/** Makes a workspace that a person named, with what is missing above it. */
export async function makeWorkspace(path: string): Promise<Made> {
  const missing: string[] = [];
  // Not by Node's recursive way, which tries for ever where a file system takes no directories.
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  if (missing.length === 0 && !statSync(path).isDirectory()) {
    throw new SubstratError('bad_request', `The workspace ${path} is no directory.`);
  }
  return makeEach(missing, `The workspace ${path}`);
}

/** Makes a directory inside a workspace, never through a symbolic link. */
export async function makeSubdirectory(workspace: string, subdir: string): Promise<Made> {
  if (subdir.includes('\0') || isAbsolute(subdir) || !isInside(workspace, join(workspace, subdir))) {
    throw new SubstratError('forbidden', 'workspace_subdir must be a directory inside your own workspace.');
  }
  return makeEach(between(workspace, join(workspace, subdir)), 'workspace_subdir');
}

async function makeEach(directories: readonly string[], what: string): Promise<Made> {
  const made: string[] = [];
  const undo = async (): Promise<void> => {
    for (const directory of made.toReversed()) await rmdir(directory).catch(() => {});
  };
  try {
    for (const directory of directories) if (await makeDirectory(directory)) made.push(directory);
    return undo;
  } catch (error) {
    await undo();
    if (error instanceof SubstratError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new SubstratError('bad_request', `${what} cannot be made: ${code}.`, { cause: error });
  }
}

/** False when it was there. */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) throw isLink(path);
    if (!stats.isDirectory()) throw error;
    return false;
  }
}
