import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { readRegularText } from '../core/regular-file.ts';
import { cleanText, shorten } from '../core/text.ts';
import { type SavedWork, type Wip, wipRef } from '../core/wip.ts';
import type { AgentGit, GitPlace } from './agent-git.ts';
import { openOwn, ownGit, ownGitText } from './own-git.ts';
import { type MadeTree, withoutSecrets } from './wip-clean.ts';

const MAX_FILE = 10 * 1024 * 1024;
const MAX_PACK = 64 * 1024 * 1024;
const MOST_LISTED = 50;
const LIMITS = { timeoutMs: 60_000, maxBytes: 10_000 };
const HASH = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const BRANCH = /^(?!.*(\.\.|\/\/|@\{|\.lock$|\/$))[A-Za-z0-9][\w./-]{0,199}$/;

/**
 * Writes the tree with uncommitted and new files, without ignored ones, into objects of the home, and a pack of it and
 * of what is checked out. `$1` is the largest file; the others are commits that the daemon has. Nested repositories
 * and larger files are left out and listed; a file that git cannot add is an error. Prints tree, head and branch.
 */
const SCRIPT = `
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] || exit 3
export GIT_NO_REPLACE_OBJECTS=1
objects=$(cd "$(git rev-parse --git-path objects)" && pwd) || exit 1
index=$(git rev-parse --git-path index)
[ ! -f "$index" ] || cp "$index" "$HOME/index"
mkdir "$HOME/objects"
export GIT_INDEX_FILE="$HOME/index" GIT_OBJECT_DIRECTORY="$HOME/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
max=$1
shift
find . -mindepth 2 -name .git -prune -printf '%h\\0' > "$HOME/nested"
find . -name .git -prune -o -type f -size "+$max"c -printf './%P\\0' > "$HOME/large"
{ printf '.\\0'; cat "$HOME/nested" "$HOME/large" | sed -z 's/^/:(exclude,literal)/'; } |
  git add -A --pathspec-from-file=- --pathspec-file-nul >/dev/null || exit 1
tree=$(git write-tree) || exit 1
head=$(git rev-parse --verify --quiet HEAD)
git check-ignore -z --stdin < "$HOME/large" > "$HOME/ignored" 2>/dev/null
{
  printf '%s\\n' "$tree" $head
  for known in "$@"; do git cat-file -e "$known^{commit}" 2>/dev/null && printf '^%s\\n' "$known"; done
} | git pack-objects --revs --stdout --quiet > "$HOME/pack" || exit 1
echo "$tree"
echo "$head"
git symbolic-ref --quiet --short HEAD || echo`;

export interface Saving {
  readonly git: AgentGit;
  /** The daemon's own bare repository for this workspace. */
  readonly repository: string;
  /** Where work in progress is pushed to. */
  readonly remote: string;
}

/**
 * Pushes the work in progress of a workspace. The tree is made in a sandbox, its pack is checked and read into a
 * repository of the daemon, and pushed from there. Never throws: what went wrong is part of the result.
 */
export async function saveWork(saving: Saving, place: GitPlace, wip: Wip, runId: string): Promise<SavedWork> {
  const { workspaceId } = wip;
  let leftOut: string[] = [];
  try {
    const repository = await openOwn(saving.repository);
    const made = await makeTree(saving, place, wip, (found) => {
      leftOut = found;
    });
    const cleaned = await withoutSecrets(repository, made, wip);
    leftOut.push(...cleaned.leftOut);
    const parents = [made.head, wip.hash].flatMap((parent) => (parent === null ? [] : ['-p', parent]));
    const message = `Work in progress after run ${runId}`;
    const hash = await ownGitText(repository, ['commit-tree', cleaned.tree, ...parents, '-m', message], {
      env: AUTHOR,
    });
    await push(saving, repository, wip, hash);
    return { workspaceId, hash, head: made.head, branch: made.branch, leftOut: listed(leftOut), problem: null };
  } catch (error) {
    const problem = shorten(cleanText((error as Error).message), 500);
    return { workspaceId, problem, leftOut: listed(leftOut) };
  }
}

async function makeTree(
  { git, repository }: Saving,
  place: GitPlace,
  { base, head: last }: Wip,
  onLeftOut: (paths: string[]) => void,
): Promise<MadeTree> {
  const known = [base, ...(last === null ? [] : [last])];
  const result = await git(place, {
    script: SCRIPT,
    args: [String(MAX_FILE), ...known],
    mode: 'ro',
    limits: LIMITS,
    collect: async (home, { exitCode }) => {
      if (exitCode !== 0) return;
      onLeftOut([...pathsIn(home, 'nested', 'a repository'), ...largeIn(home)]);
      await readPack(join(home, 'pack'), repository);
    },
  });
  if (result.exitCode === 3) throw new SubstratError('conflict', 'The workspace is not a git repository any more.');
  if (result.exitCode !== 0)
    throw new SubstratError('conflict', `git could not read the files: ${result.stderr.trim()}`);
  // Foreign input from here on.
  const [tree = '', head = '', branch = ''] = result.stdout.toString('utf8').split('\n');
  if (!HASH.test(tree) || (head !== '' && !HASH.test(head))) throw new SubstratError('conflict', 'git gave no tree.');
  const wanted = head === '' ? [tree] : [tree, head];
  // Everything that they refer to must be there.
  await ownGit(repository, ['rev-list', '--objects', '--quiet', ...wanted, '--not', ...known]);
  await ownGit(repository, ['cat-file', '-e', `${tree}^{tree}`]);
  if (head !== '') await ownGit(repository, ['cat-file', '-e', `${head}^{commit}`]);
  return { tree, head: head === '' ? null : head, branch: BRANCH.test(branch) ? branch : null };
}

/** The file is what the sandbox left. Its objects are checked before they are stored. */
async function readPack(path: string, repository: string): Promise<void> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new SubstratError('conflict', 'git left no pack.');
    if (stats.size > MAX_PACK) {
      throw new SubstratError('conflict', `The changes have ${stats.size} bytes compressed; the limit is ${MAX_PACK}.`);
    }
    await ownGit(repository, ['index-pack', '--strict', '--stdin', `--max-input-size=${MAX_PACK}`], { input: file });
  } finally {
    closeSync(file);
  }
}

/**
 * Only over what was recorded, so that a node that was replaced cannot overwrite its successor. If an earlier push was
 * not recorded, the remote has what this node pushed or found there.
 */
async function push({ remote }: Saving, repository: string, wip: Wip, hash: string): Promise<void> {
  const ref = wipRef(wip.agentId);
  const seen = await ownGitText(repository, ['rev-parse', '--verify', '--quiet', SEEN]).catch(() => null);
  const expected = [...new Set([wip.hash ?? '', seen ?? wip.hash ?? ''])];
  let failure: unknown;
  for (const before of expected) {
    try {
      const lease = `--force-with-lease=${ref}:${before}`;
      await ownGit(repository, ['push', '--quiet', lease, remote, `${hash}:${ref}`], { remote: true });
      return void (await ownGit(repository, ['update-ref', SEEN, hash]));
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** What the remote's ref is, as far as this node knows. */
export const SEEN = 'refs/substrat/seen';

const AUTHOR = {
  GIT_AUTHOR_NAME: 'Substrat',
  GIT_AUTHOR_EMAIL: 'substrat@localhost',
  GIT_COMMITTER_NAME: 'Substrat',
  GIT_COMMITTER_EMAIL: 'substrat@localhost',
};

function largeIn(home: string): string[] {
  const ignored = new Set(pathsIn(home, 'ignored', ''));
  return pathsIn(home, 'large', '')
    .filter((path) => !ignored.has(path))
    .map((path) => `${path} (larger than ${MAX_FILE / 1024 / 1024} MiB)`);
}

function pathsIn(home: string, name: string, why: string): string[] {
  const text = readRegularText(join(home, name), { maxBytes: 1024 * 1024, links: 'refuse' });
  const paths = text.split('\0').filter(Boolean);
  return paths.map((path) => path.replace(/^\.\//, '') + (why === '' ? '' : ` (${why})`));
}

function listed(paths: readonly string[]): string[] {
  const shown = paths.slice(0, MOST_LISTED).map((path) => shorten(cleanText(path).replaceAll(/[\p{Cc}]/gu, '?'), 200));
  return paths.length > MOST_LISTED ? [...shown, `and ${paths.length - MOST_LISTED} more`] : shown;
}
