import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import { removeTree } from '../core/remove-tree.ts';
import { cleanText } from '../core/text.ts';
import type { Workspace } from '../core/workspace.ts';
import type { WorkspaceRules } from './access.ts';
import { git } from './git.ts';
import { localPath } from './own-git.ts';
import { isInside } from './paths.ts';
import type { Tx } from './tx.ts';

type Worktree = Pick<Workspace, 'id' | 'path' | 'repository'>;

const LIMITS = { timeoutMs: 60_000, maxBytes: 64 * 1024 };

/** `$1` is the worktree's own git directory, `$2` the repository. The worktree's `.git` file is not read. */
const STATUS = `
export GIT_DIR="$1" GIT_COMMON_DIR="$2" GIT_WORK_TREE="$PWD"
if [ -e "$1/modules" ]; then echo submodules; exit 0; fi
exec git -c core.fsmonitor=false -c core.hooksPath=/dev/null status \\
  --porcelain --untracked-files=all --ignore-submodules=dirty`;

/** The common git directory of a repository, shared by all its worktrees. */
export async function findRepository(directory: string): Promise<string> {
  const found = await git(directory, ['rev-parse', '--path-format=absolute', '--git-common-dir']);
  return realpathSync(found);
}

/** A directory that an agent can write may contain git settings that execute anything, so git is not run there. */
export async function refuseWritten(tx: Tx, nodeId: string, repository: string): Promise<void> {
  const workspaces = (await tx.workspaces.listWorkspacePaths({ nodeId })).map(({ path }) => path);
  const links = (await tx.workspaces.listLinksOn({ nodeId }))
    .filter(({ mode }) => mode === 'rw')
    .map(({ source }) => source);
  if (![...workspaces, ...links].some((path) => isInside(path, repository))) return;
  throw new SubstratError(
    'conflict',
    `Agents can write to ${repository}, so git is not run there. Use a repository that agents do not work in.`,
  );
}

/** Git also runs in a repository on this machine that is fetched from or pushed to, with its settings and hooks. */
export async function refuseWrittenRemote(tx: Tx, nodeId: string, address: string): Promise<void> {
  const path = localPath(address);
  if (path === null) return;
  await refuseWritten(tx, nodeId, path);
  if (existsSync(path)) await refuseWritten(tx, nodeId, realpathSync(path));
}

/** Creates the worktree on a new branch `substrat/HANDLE`. Returns how to undo it. */
export async function addWorktree({ id, path, repository }: Worktree, handle: string): Promise<() => Promise<void>> {
  if (repository === null) throw new Error('a worktree needs a git repository');
  const branch = await freeBranch(repository, `substrat/${handle}`);
  await inRepository(repository, ['worktree', 'add', '--quiet', '-b', branch, '--', path, 'HEAD']);
  // Created here, so that the sandbox can mount them: the first for the agent, the second for nobody.
  for (const kind of ['.', 'logs']) mkdirSync(join(repository, kind, 'refs/heads/substrat'), { recursive: true });
  const config = join(repository, 'worktrees', id, 'config.worktree');
  if (!existsSync(config)) writeFileSync(config, '');
  return async () => {
    await discard({ id, path, repository });
    await inRepository(repository, ['branch', '--quiet', '-D', '--', branch]);
  };
}

/**
 * The changed and new files of a worktree, in git's short format. Git runs in a sandbox: attributes, index and files are
 * the agent's. Without a sandbox nothing is known about them, so the worktree is kept.
 */
export async function uncommitted(
  { git: agentGit, agentDirectory }: Pick<WorkspaceRules, 'git' | 'agentDirectory'>,
  worktree: Worktree,
): Promise<string> {
  const { id, path, repository } = worktree;
  if (repository === null || !existsSync(path)) return '';
  const binds = repositoryBinds(worktree);
  const place = { root: path, directory: path, agentDirectory: agentDirectory(id), binds };
  const args = [join(repository, 'worktrees', id), repository];
  const { exitCode, stdout, stderr, truncated } = await agentGit(place, {
    script: STATUS,
    args,
    mode: 'ro',
    limits: LIMITS,
  }).catch((error: Error) => {
    throw cannotTell(path, error.message);
  });
  if (exitCode !== 0 && !truncated) throw cannotTell(path, stderr);
  return cleanText(stdout.toString('utf8')).trimEnd();
}

/** Removes a worktree without uncommitted files; its commits stay on its branch. */
export async function removeWorktree(rules: WorkspaceRules, worktree: Worktree): Promise<void> {
  if (!existsSync(worktree.repository as string)) return;
  const work = await uncommitted(rules, worktree);
  if (work !== '') throw isKept(worktree.path, work);
  await discard(worktree);
}

/** Removes the files and the worktree's entry in the repository, as `git worktree remove` does. No link is followed. */
async function discard({ id, path, repository }: Worktree): Promise<void> {
  await removeTree(path);
  await removeTree(join(repository as string, 'worktrees', id));
}

function cannotTell(path: string, why: string): SubstratError {
  const message = `The worktree ${path} was kept because it is not known whether it has uncommitted changes: ${cleanText(why).trim().slice(0, 400)} To remove it, run \`git worktree remove ${path}\`, then delete the workspace.`;
  return new SubstratError('conflict', message);
}

export function isKept(path: string, work: string): SubstratError {
  const files = work.split('\n');
  const some = files.slice(0, 3).map((line) => line.slice(3) || line);
  const more = files.length > some.length ? ` and ${files.length - some.length} more` : '';
  return new SubstratError(
    'conflict',
    `The worktree ${path} was kept because it has uncommitted changes: ${some.join(', ')}${more}. Commit or remove them, then delete the workspace.`,
  );
}

/**
 * What an agent needs of the repository to commit: its objects, the branches `substrat/…` and the worktree's own
 * state. The rest is read-only, above all configuration and hooks, which git would execute for the next user of the
 * repository.
 */
export function repositoryBinds({ id, repository }: Worktree): Bind[] {
  if (repository === null) return [];
  const bind = (mode: Bind['mode'], ...path: string[]): Bind => {
    const place = join(repository, ...path);
    return { source: place, target: place, mode };
  };
  return [
    bind('ro'),
    bind('rw', 'objects'),
    bind('rw', 'refs/heads/substrat'),
    bind('rw', 'logs/refs/heads/substrat'),
    bind('rw', 'worktrees', id),
    ...['commondir', 'gitdir', 'config.worktree'].map((file) => bind('ro', 'worktrees', id, file)),
  ];
}

function inRepository(repository: string, args: readonly string[]): Promise<string> {
  return git(repository, args, { GIT_DIR: repository, GIT_COMMON_DIR: repository });
}

async function freeBranch(repository: string, wanted: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const branch = n === 1 ? wanted : `${wanted}-${n}`;
    const ref = `refs/heads/${branch}`;
    const valid = await git(repository, ['check-ref-format', ref]).then(
      () => true,
      () => false,
    );
    const taken =
      !valid ||
      (await inRepository(repository, ['show-ref', '--verify', '--', ref]).then(
        () => true,
        () => false,
      ));
    if (!taken) return branch;
  }
}
