import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { removeDirectories } from '../core/nofollow.ts';
import { isInside, makeInside } from './paths.ts';

/** Undoes it. */
type Undo = () => Promise<void>;

/**
 * Creates a workspace that a person named, with its missing parents. The existing part may contain symlinks of the
 * person.
 */
export async function makeWorkspace(path: string): Promise<Undo> {
  let there = path;
  while (!existsSync(there)) there = dirname(there);
  if (there === path && !statSync(path).isDirectory()) {
    throw new SubstratError('bad_request', `The workspace ${path} is not a directory.`);
  }
  const real = realpathSync(there);
  return make(real, join(real, relative(there, path)), `The workspace ${path}`);
}

/** Creates a directory inside a workspace, never through a symlink. */
export async function makeSubdirectory(workspace: string, subdir: string): Promise<Undo> {
  if (subdir.includes('\0') || isAbsolute(subdir) || !isInside(workspace, join(workspace, subdir))) {
    throw new SubstratError('forbidden', 'workspace_subdir must be a directory inside your own workspace.');
  }
  return make(workspace, join(workspace, subdir), 'workspace_subdir');
}

async function make(outer: string, path: string, what: string): Promise<Undo> {
  try {
    const made = makeInside(outer, path);
    return async () => removeDirectories(made);
  } catch (error) {
    if (error instanceof SubstratError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new SubstratError('bad_request', `${what} cannot be created: ${code}.`, { cause: error });
  }
}
