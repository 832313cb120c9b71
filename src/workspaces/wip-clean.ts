import { isHiddenPath } from '../core/credential-files.ts';
import { SubstratError } from '../core/errors.ts';
import { looksSecret } from '../core/secret-scan.ts';
import { shorten } from '../core/text.ts';
import type { Wip } from '../core/wip.ts';
import { ownGit, ownGitText } from './own-git.ts';

/** What a sandbox made of the files of a workspace. */
export interface MadeTree {
  readonly tree: string;
  readonly head: string | null;
  readonly branch: string | null;
}

interface Change {
  readonly path: string;
  /** Mode and object before, in what is checked out; null: it is new. */
  readonly before: string | null;
  readonly object: string;
  readonly isFile: boolean;
}

const MAX_SCANNED = 256 * 1024 * 1024;
const NOTHING = /^0+$/;

/**
 * Leaves out of the tree what looks like a credential: by name, or by content. In what the agent committed itself
 * nothing can be left out without rewriting its history, so that is an error. All of it is read from the daemon's own
 * repository: the agent cannot change what is looked at.
 */
export async function withoutSecrets(
  repository: string,
  { tree, head }: MadeTree,
  { base, head: last }: Wip,
): Promise<{ readonly tree: string; readonly leftOut: readonly string[] }> {
  if (head !== null) {
    const [found] = await secretIn(repository, await committed(repository, head, [base, ...(last ? [last] : [])]));
    if (found !== undefined) {
      const message = `A commit contains what looks like a credential (${shorten(found, 200)}), so nothing is pushed.`;
      throw new SubstratError('conflict', message);
    }
  }
  const from = head ?? (await ownGitText(repository, ['hash-object', '-w', '-t', 'tree', '--stdin']));
  const changes = readChanges(await ownGit(repository, ['diff-tree', '-r', '-z', '--no-renames', from, tree]));
  const files = changes.filter(({ isFile }) => isFile);
  const secret = new Set(await secretIn(repository, files));
  if (secret.size === 0) return { tree, leftOut: [] };
  const lines = changes
    .filter(({ path }) => secret.has(path))
    .map(({ path, before }) => `${before ?? `0 ${'0'.repeat(40)}`}\t${path}\0`);
  const env = { GIT_INDEX_FILE: `${repository}/wip-index` };
  await ownGit(repository, ['read-tree', tree], { env });
  await ownGit(repository, ['update-index', '-z', '--index-info'], { env, input: lines.join('') });
  const clean = await ownGitText(repository, ['write-tree'], { env });
  return { tree: clean, leftOut: [...secret].map((path) => `${path} (looks like a credential)`) };
}

/** New files in the commits of the agent. */
async function committed(repository: string, head: string, known: readonly string[]): Promise<Change[]> {
  const listed = await ownGit(repository, ['rev-list', '--objects', '--no-object-names', head, '--not', ...known]);
  const named = await ownGit(repository, ['rev-list', '--objects', head, '--not', ...known]);
  const paths = new Map(
    named
      .toString('utf8')
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  );
  return listed
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map((object) => ({ path: paths.get(object) ?? object, before: null, object, isFile: true }));
}

/** The paths of those that look like credentials. */
async function secretIn(repository: string, files: readonly Change[]): Promise<string[]> {
  if (files.length === 0) return [];
  const input = `${files.map(({ object }) => object).join('\n')}\n`;
  const sizes = (await ownGitText(repository, ['cat-file', '--batch-check'], { input })).split('\n');
  const total = sizes.reduce((sum, line) => sum + Number(line.split(' ')[2] ?? 0), 0);
  if (total > MAX_SCANNED)
    throw new SubstratError('conflict', `The changes have ${total} bytes; the limit is ${MAX_SCANNED}.`);
  const found: string[] = [];
  for (const [index, { path, object }] of files.entries()) {
    if (sizes[index]?.split(' ')[1] !== 'blob') continue;
    if (
      isHiddenPath(path.split('/')) ||
      looksSecret((await ownGit(repository, ['cat-file', 'blob', object])).toString('latin1'))
    )
      found.push(path);
  }
  return found;
}

/** `:MODE MODE OBJECT OBJECT STATUS NUL PATH NUL` for each. */
function readChanges(raw: Buffer): Change[] {
  const words = raw.toString('utf8').split('\0');
  const changes: Change[] = [];
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [modeBefore = '', mode = '', before = '', object = ''] = (words[i] ?? '').replace(/^:/, '').split(' ');
    const path = words[i + 1] ?? '';
    if (NOTHING.test(object)) continue;
    const isFile = mode === '100644' || mode === '100755' || mode === '120000';
    changes.push({ path, before: NOTHING.test(before) ? null : `${modeBefore} ${before}`, object, isFile });
  }
  return changes;
}
