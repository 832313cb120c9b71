import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** Whether the path, with every link in it resolved, lies in the directory or is the directory itself. */
export function isInside(directory: string, path: string): boolean {
  const [root, real] = [realPlace(directory), realPlace(path)];
  return root !== null && real !== null && (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep));
}

/** The path with the links in it resolved, as far as it exists; null where a link leads nowhere. */
export function realPlace(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // Whoever writes through a link that leads nowhere makes the file that it leads to.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() || dirname(path) === path) return null;
    const parent = realPlace(dirname(path));
    return parent === null ? null : join(parent, basename(path));
  }
}
