import { isHiddenPath } from '../core/credential-files.ts';
import { SubstratError } from '../core/errors.ts';
import { cleanText, MAX_TEXT } from '../core/text.ts';
import type { AgentGit, GitPlace } from './agent-git.ts';

/** What an agent has changed. Everything in it is the agent's word. */
export interface Diff {
  /** The commit that the files are compared with; null if there is none yet. */
  readonly base: string | null;
  readonly files: readonly DiffFile[];
  /** In git's format. */
  readonly diff: string;
  /** There is more than is shown. */
  readonly truncated: boolean;
}

export interface DiffFile {
  readonly path: string;
  /** Lines; null for a binary file. */
  readonly added: number | null;
  readonly removed: number | null;
}

const MOST_FILES = 1_000;
const LIMITS = { timeoutMs: 20_000, maxBytes: MAX_TEXT };
const NOT_A_REPOSITORY = 3;

/**
 * Compares with the recorded base (`$1`), with where the worktree's branch left the repository (`$2` = worktree), or with
 * where HEAD left its remote branch; otherwise with HEAD. New files are part of it, ignored files and likely credentials
 * are not. The index is a copy, and new objects go to the home, because the workspace is read-only.
 */
const SCRIPT = `
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit ${NOT_A_REPOSITORY}
objects=$(cd "$(git rev-parse --git-path objects)" && pwd) || exit 1
index=$(git rev-parse --git-path index)
base=$1
worktree=$2
shift 2
if [ -z "$base" ]; then
  for start in $([ "$worktree" = worktree ] && echo main-worktree/HEAD || echo '@{upstream} refs/remotes/origin/HEAD'); do
    base=$(git merge-base HEAD "$start" 2>/dev/null) && break
  done
  [ -n "$base" ] || base=$(git rev-parse --verify --quiet HEAD)
fi
[ ! -f "$index" ] || cp "$index" "$HOME/index"
mkdir "$HOME/objects"
export GIT_INDEX_FILE="$HOME/index" GIT_OBJECT_DIRECTORY="$HOME/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
git add --intent-to-add --ignore-errors -- . >/dev/null 2>&1
echo "$base"
[ -n "$base" ] || base=$(git hash-object -w -t tree /dev/null)
compare() {
  git -c core.quotePath=false diff --no-ext-diff --no-textconv --no-color --no-renames --relative \\
    --ignore-submodules=dirty --src-prefix=a/ --dst-prefix=b/ "$@"
}
compare --numstat -z "$base" || exit 1
printf '\\0'
compare "$base"`;

/** Makes the diff of an agent's workspace inside a sandbox. */
export async function diffOf(
  git: AgentGit,
  place: GitPlace,
  { base, isWorktree }: { readonly base: string | null; readonly isWorktree: boolean },
): Promise<Diff> {
  const args = [base ?? '', isWorktree ? 'worktree' : ''];
  const { exitCode, stdout, stderr, truncated } = await git(place, {
    script: SCRIPT,
    args,
    mode: 'ro',
    limits: LIMITS,
  });
  if (exitCode === NOT_A_REPOSITORY) {
    throw new SubstratError('conflict', 'The workspace is not a git repository, so there is no diff.');
  }
  if (exitCode !== 0 && !truncated) {
    throw new SubstratError('conflict', `git could not compare the files: ${cleanText(stderr).trim().slice(0, 400)}`);
  }
  return { ...parse(stdout.toString('utf8')), truncated };
}

/** The first line is the base, then records of `--numstat -z` up to an empty one, then the diff. */
function parse(text: string): Omit<Diff, 'truncated'> {
  const line = text.indexOf('\n');
  const end = text.indexOf('\0\0', line);
  // With no file, the empty record is the first one.
  const none = text[line + 1] === '\0';
  const records = none || end === -1 ? [] : text.slice(line + 1, end).split('\0');
  const diff = none ? text.slice(line + 2) : end === -1 ? '' : text.slice(end + 2);
  const files = records.slice(0, MOST_FILES).flatMap((record) => {
    const [added = '', removed = '', path] = record.split('\t');
    return path === undefined || isHidden(path) ? [] : [{ path, added: count(added), removed: count(removed) }];
  });
  const base = text.slice(0, Math.max(0, line));
  return { base: /^[0-9a-f]{40,64}$/.test(base) ? base : null, files, diff: shownParts(diff) };
}

function count(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** Leaves out files that usually contain credentials. */
function shownParts(diff: string): string {
  const parts = diff.split(/^(?=diff --git )/m);
  const shown = parts.filter((part) => {
    const header = part.slice('diff --git '.length, part.indexOf('\n'));
    // `a/PATH b/PATH`, each in quotes if it contains special characters.
    const second = header.slice((header.length + 1) / 2).replaceAll('"', '');
    return !isHidden(second.slice('b/'.length));
  });
  return cleanText(shown.join(''));
}

function isHidden(path: string): boolean {
  return isHiddenPath(path.split('/'));
}
