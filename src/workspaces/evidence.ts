import { hash } from 'node:crypto';
import type { Bind } from '../core/command.ts';
import type { Claim, Finding } from '../core/evidence.ts';
import type { RunLimits } from '../sandbox/run.ts';
import type { AgentGit, GitPlace } from './agent-git.ts';

export interface Checking {
  readonly git: AgentGit;
  readonly place: GitPlace & Pick<Bind, 'mode'>;
  /** For a command: it comes from the configuration or from the owner, so that 0 means something. */
  readonly isWanted: boolean;
  readonly limits: RunLimits;
}

const SHORT = { timeoutMs: 60_000, maxBytes: 1024 * 1024 };

/** Fails if the file is a symlink, or if its path leads out of the workspace. */
const FILE = `
path=$(realpath -e -- "$1") && [ -f "$path" ] && [ ! -L "$1" ] || exit 3
case "$path" in "$2"/*) ;; *) exit 3 ;; esac
sha256sum < "$path"`;

/**
 * The git tree of all files that are not ignored, made with a repository of its own: the agent's configuration and attributes
 * decide nothing, and no process of the agent runs here.
 */
const TREE = `
export GIT_DIR="$HOME/repository" GIT_WORK_TREE="$1"
git init --quiet && git add --all -- . >/dev/null 2>&1
git write-tree`;

/** Checks what an agent claims, in new sandboxes with empty homes and without network. */
export async function checkClaim(checking: Checking, claim: Claim): Promise<Finding> {
  if (claim.kind === 'commit') return checkCommit(checking, claim);
  return claim.kind === 'file' ? checkFile(checking, claim) : checkCommand(checking, claim);
}

/** The hash of what git prints is computed here, so that git and its configuration cannot pretend anything. */
async function checkCommit({ git, place, limits }: Checking, { subject }: Claim): Promise<Finding> {
  const job = {
    script: 'git --no-replace-objects cat-file commit "$1"',
    args: [subject],
    mode: 'ro',
    limits: { ...limits, ...SHORT },
  } as const;
  const { exitCode, stdout } = await git(place, job);
  const whole = Buffer.concat([Buffer.from(`commit ${stdout.length}\0`), stdout]);
  const found = exitCode === 0 && hash(subject.length === 40 ? 'sha1' : 'sha256', whole) === subject;
  return found
    ? { state: 'proven', detail: 'The commit is in the repository.', tree: treeOf(stdout) }
    : { state: 'refuted', detail: 'The commit is not in the repository.', tree: null };
}

async function checkFile({ git, place, limits }: Checking, { subject, expected }: Claim): Promise<Finding> {
  const args = [subject, place.directory];
  const { exitCode, stdout } = await git(place, { script: FILE, args, mode: 'ro', limits: { ...limits, ...SHORT } });
  if (exitCode !== 0) return { state: 'refuted', detail: 'There is no such file in the workspace.', tree: null };
  const found = stdout.toString('latin1').slice(0, 64);
  return found === expected
    ? { state: 'proven', detail: 'The file has this hash.', tree: null }
    : { state: 'refuted', detail: `The file has the hash ${found}.`, tree: null };
}

async function checkCommand(
  { git, place: { mode, ...files }, isWanted, limits }: Checking,
  { subject, expected }: Claim,
): Promise<Finding> {
  if (!isWanted) {
    const detail = 'Not run: neither the configuration nor a request of the owner named this command.';
    return { state: 'claimed', detail, tree: null };
  }
  // Only what the agent itself can write: its command may come from a file of its own.
  const place = { ...files, root: files.directory };
  const hashed = async () => {
    const job = { script: TREE, args: [place.root], mode: 'ro', limits: { ...limits, ...SHORT } } as const;
    return /^[0-9a-f]{40,64}(?=\n)/.exec((await git(place, job)).stdout.toString('latin1'))?.[0] ?? null;
  };
  const tree = await hashed();
  const run = { script: 'exec /bin/sh -c "$1" >/dev/null 2>&1', args: [subject], mode, limits };
  const { exitCode } = await git(place, run);
  const ended = exitCode === null ? 'It was killed.' : `It ended with ${exitCode}.`;
  if (String(exitCode) !== expected) return { state: 'refuted', detail: ended, tree };
  if (exitCode !== 0) return { state: 'ran', detail: `${ended} 0 is expected.`, tree };
  if (tree !== null && tree === (await hashed())) return { state: 'proven', detail: ended, tree };
  return { state: 'ran', detail: `${ended} The files changed meanwhile.`, tree };
}

function treeOf(commit: Buffer): string | null {
  return /^tree ([0-9a-f]{40,64})\n/.exec(commit.toString('latin1', 0, 80))?.[1] ?? null;
}
