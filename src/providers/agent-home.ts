import { randomUUID } from 'node:crypto';
import { closeSync, constants, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Writes a file in an agent's home, replacing whatever has that name; null removes it. The agent can write everything
 * there, so each directory on the path is held open, and a symlink or file in place of a directory is replaced:
 * nothing outside the home is touched.
 */
export function replaceInHome(home: string, path: string, text: string | Uint8Array | null): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const names = dirname(path).split('/');
  const held: number[] = [openSync(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)];
  const here = () => `/proc/self/fd/${held.at(-1)}`;
  try {
    for (const name of names) held.push(enter(join(here(), name)));
    const target = join(here(), path.slice(path.lastIndexOf('/') + 1));
    clear(target, here());
    if (text !== null) writeFileSync(target, text, { mode: 0o600, flag: 'wx' });
  } finally {
    for (const descriptor of held) closeSync(descriptor);
  }
}

/** A directory is moved away: removing what an agent put into it could take minutes. */
function clear(target: string, here: string): void {
  const stats = lstatSync(target, { throwIfNoEntry: false });
  if (stats?.isDirectory()) renameSync(target, join(here, `.replaced-${randomUUID()}`));
  else if (stats) rmSync(target, { force: true });
}

function enter(directory: string): number {
  try {
    return openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ELOOP' && code !== 'ENOTDIR') throw error;
    rmSync(directory, { force: true });
    mkdirSync(directory, { mode: 0o700 });
    return openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  }
}
