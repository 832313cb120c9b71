import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** Whether the path, with symlinks resolved, is the directory or inside it. */
export function isInside(directory: string, path: string): boolean {
  const [root, real] = [realPlace(directory), realPlace(path)];
  return root !== null && real !== null && (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep));
}

/** Resolves symlinks in the part of the path that exists; null for a dangling symlink. */
export function realPlace(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // Writing through a dangling symlink would create its target.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() || dirname(path) === path) return null;
    const parent = realPlace(dirname(path));
    return parent === null ? null : join(parent, basename(path));
  }
}
