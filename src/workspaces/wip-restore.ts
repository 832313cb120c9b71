import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { SubstratError } from '../core/errors.ts';
import { removeTree } from '../core/remove-tree.ts';
import { type Wip, wipRef } from '../core/wip.ts';
import type { AgentGit } from './agent-git.ts';
import { openOwn, ownGit, ownGitText, withoutLogins } from './own-git.ts';
import { SEEN } from './wip-save.ts';

/** What the files of a directory begin with, in the daemon's own repository. */
const START = 'refs/substrat/start';
const LIMITS = { timeoutMs: 120_000, maxBytes: 10_000 };

/**
 * Fills the empty directory from the daemon's repository (`$1`): the tree of `refs/substrat/start`, with HEAD at `$2` on the
 * branch `$3`, so that what was not committed is not committed now. `$4` is the address of the remote `origin`.
 */
const SCRIPT = `
set -e
git init --quiet .
git remote add origin "$4"
git fetch --quiet --no-tags "$1" '+refs/substrat/*:refs/substrat/*' '+refs/heads/*:refs/remotes/origin/*'
git read-tree -u --reset refs/substrat/start
if [ -n "$2" ]; then
  if [ -n "$3" ]; then
    git update-ref "refs/heads/$3" "$2"
    git symbolic-ref HEAD "refs/heads/$3"
  else
    git update-ref --no-deref HEAD "$2"
  fi
  git read-tree "$2"
fi
git update-ref -d refs/substrat/start
git update-ref -d refs/substrat/seen`;

export interface Restoring {
  readonly git: AgentGit;
  readonly repository: string;
  readonly agentDirectory: string;
}

interface Start {
  readonly head: string | null;
  readonly branch: string | null;
  readonly source: string;
}

/** Clones a repository of the person into a new directory. Returns the commit that it begins with. */
export async function cloneInto(restoring: Restoring, directory: string, address: string) {
  const repository = await openOwn(restoring.repository);
  const listed = await ownGitText(repository, ['ls-remote', '--symref', '--', address, 'HEAD'], { remote: true });
  const branch = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(listed)?.[1] ?? null;
  const base = /^([0-9a-f]{40,64})\tHEAD$/m.exec(listed)?.[1];
  if (base === undefined) throw new SubstratError('bad_request', 'That repository has no commits.');
  const wanted = ['+refs/heads/*:refs/heads/*', `+HEAD:${START}`];
  await ownGit(repository, ['fetch', '--quiet', '--no-tags', '--', address, ...wanted], {
    remote: true,
    timeoutMs: 600_000,
  });
  const source = withoutLogins(address);
  await fill(restoring, directory, { head: base, branch, source });
  return { base, branch, source };
}

/** Restores the recorded state, never the newest one, into a new directory. */
export async function restoreWork(restoring: Restoring, directory: string, wip: Wip, remote: string): Promise<void> {
  const { hash, agentId, head, branch, source } = wip;
  if (hash === null) throw new SubstratError('conflict', 'Nothing of the workspace was pushed yet.');
  const repository = await openOwn(restoring.repository);
  const wanted = `+${wipRef(agentId)}:${SEEN}`;
  await ownGit(repository, ['fetch', '--quiet', '--no-tags', '--', remote, wanted], {
    remote: true,
    timeoutMs: 600_000,
  });
  await ownGit(repository, ['update-ref', START, `${hash}^{commit}`]);
  await fill(restoring, directory, { head, branch, source });
}

/** Checks files out in a sandbox: attributes of an agent decide how. */
async function fill(restoring: Restoring, directory: string, { head, branch, source }: Start): Promise<void> {
  const { git, repository, agentDirectory } = restoring;
  const fresh = `${directory}.new`;
  await removeTree(fresh);
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  const own = { source: repository, target: repository, mode: 'ro' as const };
  const place = { root: fresh, directory: fresh, agentDirectory, binds: [own] };
  const args = [repository, head ?? '', branch ?? '', source];
  const result = await git(place, { script: SCRIPT, args, mode: 'rw', limits: LIMITS });
  if (result.exitCode !== 0) {
    await removeTree(fresh);
    throw new SubstratError('conflict', `The files could not be checked out: ${result.stderr.trim().slice(0, 400)}`);
  }
  if (existsSync(directory)) throw new SubstratError('conflict', `${directory} exists already.`);
  renameSync(fresh, directory);
}
