import { type Dirent, lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { turnOfOthers } from '../../core/turn-of-others.ts';
import { type IgnoreRules, isIgnored, rulesAround, withRulesOf } from './gitignore.ts';
import type { Select } from './select.ts';

export interface WalkOptions {
  readonly root: string;
  readonly select: Select;
  readonly gitignore: boolean;
  readonly followSymlinks: boolean;
  readonly signal: AbortSignal;
  readonly onUnlisted: (prefix: string, reason: string) => void;
}

export interface WalkedFile {
  readonly path: string;
  readonly stats: Stats;
}

interface Directory {
  /** Relative to the root, with a slash at the end; '' is the root. */
  readonly prefix: string;
  readonly depth: number;
  readonly rules: IgnoreRules | null;
}

/** Yields to the event loop after this many milliseconds. */
const STRIDE_MS = 20;
const LOOKS_AT_A_TIME = 32;
/** Deeper paths take too long to match against rules. */
const MAX_DEPTH = 100;

/**
 * Yields every wanted regular file, one directory at a time. Uses synchronous calls, which are several times faster
 * than one thread-pool call per file.
 */
export async function* walk(options: WalkOptions): AsyncIterable<readonly WalkedFile[]> {
  const { root, signal } = options;
  // A missing root is an error, not an empty source: a disk may not be mounted.
  if (!statSync(root).isDirectory()) throw new Error(`${root} is not a directory`);
  const waiting: Directory[] = [{ prefix: '', depth: 0, rules: options.gitignore ? rulesAround(root) : null }];
  const seen = new Set(options.followSymlinks ? [realpathSync(root)] : []);
  let since = performance.now();
  const turn = async () => {
    if (performance.now() - since < STRIDE_MS) return;
    await turnOfOthers();
    signal.throwIfAborted();
    since = performance.now();
  };
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    signal.throwIfAborted();
    const files = await look(options, next, waiting, seen, turn);
    if (files.length > 0) yield files;
    await turn();
  }
}

async function look(
  options: WalkOptions,
  { prefix, depth, rules: around }: Directory,
  waiting: Directory[],
  seen: Set<string>,
  turn: () => Promise<void>,
) {
  const { root, select } = options;
  const directory = join(root, prefix);
  const files: WalkedFile[] = [];
  if (depth > MAX_DEPTH) {
    options.onUnlisted(prefix, `it is nested in more than ${MAX_DEPTH} directories`);
    return files;
  }
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    options.onUnlisted(prefix, `the directory cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return files;
  }
  const rules =
    options.gitignore && entries.some(({ name }) => name === '.gitignore')
      ? withRulesOf(directory, prefix, around)
      : around;
  for (const [n, entry] of entries.entries()) {
    // Matching takes time, and a directory may have any number of files.
    if (n % LOOKS_AT_A_TIME === LOOKS_AT_A_TIME - 1) await turn();
    if (entry.name === '.git' || (entry.isSymbolicLink() && !options.followSymlinks)) continue;
    const path = prefix + entry.name;
    const full = `${directory}/${entry.name}`;
    const stats = entry.isSymbolicLink() ? follow(full) : null;
    if (entry.isFile() || stats?.isFile()) {
      if (!select.file(path) || (rules && isIgnored(rules, path, root))) continue;
      const found = stats ?? lstat(full);
      if (found?.isFile()) files.push({ path, stats: found });
    } else if (entry.isDirectory() || stats?.isDirectory()) {
      if (!select.directory(path) || (rules && isIgnored(rules, `${path}/`, root))) continue;
      // When following symlinks, walk each directory once: a symlink may lead to a parent directory.
      if (options.followSymlinks && seen.size === seen.add(realpathSync(full)).size) continue;
      waiting.push({ prefix: `${path}/`, depth: depth + 1, rules });
    }
  }
  return files;
}

/** Returns null if the file is gone or cannot be inspected. */
function lstat(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

/** Returns null for a dangling or cyclic symlink. */
function follow(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
