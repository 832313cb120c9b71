import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Connector, type Item, MAX_SOURCE_ID, type RawDocument } from '../connector.ts';
import { type BlobReader, openBlobs } from './git-blobs.ts';
import { type Authorship, readHistory } from './git-history.ts';
import { createGit } from './git-program.ts';
import { createSelect, type Selection } from './select.ts';
import { webLink } from './web-link.ts';

export interface GitOptions extends Selection {
  readonly source: string;
  /** A URL or the path of a repository. */
  readonly url: string;
  readonly branch: string | null;
  readonly root: string;
  readonly shallow: boolean;
  readonly tags: readonly string[];
  readonly maxBytes: number;
  /** The directory of the clone. */
  readonly directory: string;
}

/** Items per batch of a listing. */
const BATCH = 500;
const HEAD = 'refs/substrat/head';
const COMMIT = /^[0-9a-f]{40,64}$/;

/** A branch of a repository: cloned once without a checkout, then fetched. */
export function gitConnector(options: GitOptions): Connector {
  const { source, url, directory, tags, maxBytes } = options;
  const root = options.root.replace(/^(\.?\/)+|\/+$/g, '');
  const git = createGit(directory, url);
  const select = createSelect(options);
  const blobIds = new Map<string, string>();
  let head = '';
  let branch = options.branch;
  let before: string | null = null;
  let blobs: BlobReader | null = null;
  let recent: Promise<Map<string, Authorship>> | null = null;
  let whole: Promise<Map<string, Authorship>> | null = null;

  const authorshipOf = async (path: string): Promise<Authorship | null> => {
    recent ??= before === null ? Promise.resolve(new Map()) : readHistory(git, `${before}..${head}`, root);
    const found = (await recent).get(path);
    if (found) return found;
    // The first sync, or a file that the last sync did not reach.
    whole ??= readHistory(git, head, root);
    return (await whole).get(path) ?? null;
  };

  return {
    source,
    tags,
    maxBytes,
    checkpoint: () => JSON.stringify({ commit: head }),
    close: async () => blobs?.close(),

    async *list({ checkpoint, signal, onUnlisted }) {
      await fetchHead();
      signal.throwIfAborted();
      before = await usable(checkpoint);
      const prefix = root === '' ? '' : `${root}/`;
      let items: Item[] = [];
      const tree = ['ls-tree', '-r', '-z', '-l', '--full-tree', head, ...(root === '' ? [] : ['--', prefix])];
      for await (const entry of git.records(tree, '\0')) {
        const [, mode, type, id, size, path] = /^(\d+) (\w+) (\w+) +(\S+)\t(.*)$/s.exec(entry) ?? [];
        // 120000 is a symlink; a commit is a submodule.
        if (type !== 'blob' || mode === '120000' || id === undefined || path === undefined) continue;
        if (!select.file(path.slice(prefix.length))) continue;
        if (Buffer.byteLength(path) > MAX_SOURCE_ID) {
          onUnlisted(path, 'its path is too long');
          continue;
        }
        blobIds.set(path, id);
        items.push({ sourceId: path, version: id, size: Number(size), updatedAt: null });
        if (items.length < BATCH) continue;
        yield items;
        signal.throwIfAborted();
        items = [];
      }
      yield items;
    },

    async read({ sourceId }): Promise<RawDocument | null> {
      const id = blobIds.get(sourceId);
      if (id === undefined) return null;
      blobs ??= openBlobs(git);
      const bytes = await blobs.read(id);
      const authorship = await authorshipOf(sourceId);
      return {
        bytes,
        author: authorship?.author ?? null,
        url: webLink(url, branch ?? head, sourceId),
        createdAt: authorship?.createdAt ?? null,
        updatedAt: authorship?.updatedAt ?? null,
        metadata: branch === null ? {} : { branch },
      };
    },
  };

  async function fetchHead(): Promise<void> {
    if (!existsSync(join(directory, 'HEAD'))) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      await git.run(['init', '--bare', '--quiet', directory]);
    }
    branch = options.branch ?? (await defaultBranch());
    const from = branch === null ? 'HEAD' : `refs/heads/${branch}`;
    const depth = options.shallow ? ['--depth=1'] : existsSync(join(directory, 'shallow')) ? ['--unshallow'] : [];
    await git.run(['fetch', '--quiet', '--no-tags', '--force', ...depth, 'origin', `+${from}:${HEAD}`]);
    head = (await git.run(['rev-parse', '--verify', `${HEAD}^{commit}`])).trim();
  }

  async function defaultBranch(): Promise<string | null> {
    const said = await git.run(['ls-remote', '--symref', 'origin', 'HEAD']);
    return /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(said)?.[1] ?? null;
  }

  /** The commit of the last sync, if it is an ancestor of the current one. */
  async function usable(checkpoint: string | null): Promise<string | null> {
    const commit = readCommit(checkpoint);
    if (commit === null) return null;
    const isOlder = git.run(['merge-base', '--is-ancestor', commit, head]);
    return isOlder.then(
      () => commit,
      () => null,
    );
  }
}

function readCommit(checkpoint: string | null): string | null {
  try {
    const { commit } = JSON.parse(checkpoint ?? '{}') as { commit?: unknown };
    return typeof commit === 'string' && COMMIT.test(commit) ? commit : null;
  } catch {
    return null;
  }
}
