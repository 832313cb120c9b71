import { lstat, mkdir, rmdir } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { SubstratError } from '../core/errors.ts';

/** Makes a workspace that a person named. Answers how to undo it. */
export async function makeWorkspace(path: string): Promise<() => Promise<void>> {
  try {
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    return async () => {
      if (first === undefined) return;
      for (let made = path; isInside(first, made); made = dirname(made)) await rmdir(made).catch(() => {});
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SubstratError('bad_request', `The workspace ${path} cannot be made: ${code}.`, { cause: error });
  }
}

/** Makes a directory inside a workspace, never through a symbolic link. Answers how to undo it. */
export async function makeSubdirectory(workspace: string, subdir: string): Promise<() => Promise<void>> {
  if (subdir.includes('\0') || isAbsolute(subdir) || !isInside(workspace, join(workspace, subdir))) {
    throw new SubstratError('forbidden', 'workspace_subdir must be a directory inside your own workspace.');
  }
  const made: string[] = [];
  const undo = async (): Promise<void> => {
    for (const directory of made.toReversed()) await rmdir(directory).catch(() => {});
  };
  try {
    for (const directory of between(workspace, join(workspace, subdir))) {
      if (await makeDirectory(directory)) made.push(directory);
    }
    return undo;
  } catch (error) {
    await undo();
    if (error instanceof SubstratError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new SubstratError('bad_request', `workspace_subdir cannot be made: ${code}.`, { cause: error });
  }
}

/** What was a directory when it was made can be a link to elsewhere by now. */
export async function refuseLinks(workspace: string, inner: string): Promise<void> {
  if (!isInside(workspace, inner)) return;
  for (const directory of between(workspace, inner)) {
    const stats = await lstat(directory).catch(() => null);
    if (stats?.isSymbolicLink()) throw isLink(directory);
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

/** The directories from the first one below `outer` down to `inner`. */
function between(outer: string, inner: string): string[] {
  const parts = relative(outer, inner).split(sep).filter(Boolean);
  return parts.map((_, i) => join(outer, ...parts.slice(0, i + 1)));
}

function isInside(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

function isLink(path: string): SubstratError {
  return new SubstratError('forbidden', `The workspace directory ${path} is a symbolic link; it must be a directory.`);
}
