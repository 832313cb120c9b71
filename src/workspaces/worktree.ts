import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import type { Workspace } from '../core/workspace.ts';
import { git } from './git.ts';
import { isInside } from './paths.ts';
import type { Tx } from './tx.ts';

type Worktree = Pick<Workspace, 'id' | 'path' | 'repository'>;

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
    `Agents can write to ${repository}, so git is not run there. Give each agent a worktree of a repository that agents do not work in.`,
  );
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
    await removeWorktree({ id, path, repository });
    await inRepository(repository, ['branch', '--quiet', '-D', '--', branch]);
  };
}

/**
 * The changed and new files of a worktree, in git's short format. The agent can write the worktree's `.git` file and
 * what it points to; git gets the true paths and reads neither.
 */
export async function uncommitted({ id, path, repository }: Worktree): Promise<string> {
  if (repository === null || !existsSync(path)) return '';
  const directory = join(repository, 'worktrees', id);
  const told = { GIT_DIR: directory, GIT_COMMON_DIR: repository, GIT_WORK_TREE: path };
  if (existsSync(join(directory, 'modules'))) return 'submodules';
  return git(path, ['status', '--porcelain', '--untracked-files=all', '--ignore-submodules=dirty'], told);
}

/** Removes a worktree without uncommitted files; its commits stay on its branch. */
export async function removeWorktree(worktree: Worktree): Promise<void> {
  const repository = worktree.repository as string;
  if (!existsSync(worktree.path) || !existsSync(repository)) return;
  const work = await uncommitted(worktree);
  if (work !== '') throw isKept(worktree.path, work);
  await inRepository(repository, ['worktree', 'remove', '--force', '--', worktree.path]);
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
