import type { Git } from './git-program.ts';

/** Who changed a file last, and when it was last and first changed in the given commits. */
export interface Authorship {
  readonly author: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const COMMIT = '\x01';

/** Covers every file changed in this range, in one pass over the log. */
export async function readHistory(git: Git, range: string, root: string): Promise<Map<string, Authorship>> {
  const found = new Map<string, Authorship>();
  const args = ['log', '-z', '--no-renames', '--name-only', `--format=${COMMIT}%at %an`, range, '--'];
  let author = '';
  let at = 0;
  for await (const record of git.records(root === '' ? args : [...args, root], '\0')) {
    // With -z, a commit's line ends like a name, and its first name starts with a newline.
    const name = record.replace(/^\n+/, '');
    if (name.startsWith(COMMIT)) {
      const space = name.indexOf(' ');
      at = Number(name.slice(1, space)) * 1000;
      author = name.slice(space + 1);
    } else if (name !== '') {
      const later = found.get(name);
      found.set(name, later ? { ...later, createdAt: at } : { author, createdAt: at, updatedAt: at });
    }
  }
  return found;
}
