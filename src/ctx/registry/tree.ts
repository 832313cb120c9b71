import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SubstratError } from '../../core/errors.ts';
import { readRegularText } from '../../core/regular-file.ts';
import { createGit, type Git } from '../../knowledge/connectors/git-program.ts';

/** The files of a registry: those of one commit, or those of a directory as they are. */
export interface RegistryTree {
  /** Null for a directory. */
  readonly commit: string | null;
  /** Paths of regular files, relative to the registry. */
  list(): Promise<readonly string[]>;
  /** Throws `not_found`. */
  read(path: string): Promise<string>;
}

const MAX_FILE = 1024 * 1024;
const MAX_FILES = 20_000;
const MAX_DEPTH = 6;

/** Nothing is checked out: a file is read from the commit that was pinned. */
export function commitTree(directory: string, url: string, commit: string): RegistryTree {
  const git = createGit(directory, url);
  let files: Promise<ReadonlyMap<string, { readonly id: string; readonly size: number }>> | null = null;
  const all = () => (files ??= filesOf(git, commit));
  return {
    commit,
    list: async () => [...(await all()).keys()],
    read: async (path) => {
      const file = (await all()).get(path);
      if (!file) throw new SubstratError('not_found', `${path} is not in commit ${commit.slice(0, 12)}.`);
      if (file.size > MAX_FILE) throw new SubstratError('too_large', `${path} has more than ${MAX_FILE} bytes.`);
      return git.run(['cat-file', 'blob', file.id]);
    },
  };
}

async function filesOf(git: Git, commit: string) {
  const files = new Map<string, { id: string; size: number }>();
  for await (const entry of git.records(['ls-tree', '-r', '-z', '-l', '--full-tree', commit], '\0')) {
    const [, mode, type, id = '', size, path = ''] = /^(\d+) (\w+) (\w+) +(\S+)\t(.*)$/s.exec(entry) ?? [];
    // 120000 is a symlink; a commit is a submodule.
    if (type === 'blob' && mode !== '120000' && files.size < MAX_FILES) files.set(path, { id, size: Number(size) });
  }
  return files;
}

/** Symlinks are not followed. */
export function directoryTree(root: string): RegistryTree {
  return {
    commit: null,
    list: async () => filesIn(root, '', 0),
    read: async (path) => {
      try {
        return readRegularText(join(root, path), { maxBytes: MAX_FILE, links: { within: root } });
      } catch (error) {
        throw new SubstratError('not_found', `${join(root, path)}: ${(error as Error).message}.`, { cause: error });
      }
    },
  };
}

function filesIn(root: string, prefix: string, depth: number): string[] {
  if (depth === 0 && !lstatSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    throw new SubstratError('not_found', `${root} is not a directory.`);
  }
  if (depth > MAX_DEPTH) return [];
  return readdirSync(join(root, prefix), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') return [];
      if (entry.isDirectory()) return filesIn(root, `${prefix}${entry.name}/`, depth + 1);
      return entry.isFile() ? [prefix + entry.name] : [];
    });
}
