import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { consents } from '../../command-line/ask.ts';
import { UsageError } from '../../command-line/context.ts';
import type { Config } from '../../config/config.ts';
import { tomlString } from '../../config/toml-text.ts';
import { namedFiles } from '../../config/wants.ts';
import { SubstratError } from '../../core/errors.ts';
import { differenceOf } from '../difference.ts';
import { extensionsOf, idOf } from './extensions.ts';
import { cloneOf, fetchRegistry, type GitRegistry, readPin, writePin } from './pins.ts';
import { commitFolder, scriptFile } from './registries.ts';
import { commitTree, type RegistryTree } from './tree.ts';

interface UpdateOptions {
  readonly git: GitRegistry;
  readonly config: Config;
  readonly home: string;
  readonly yes: boolean;
  readonly print: (line: string) => void;
}

const MOST_LINES = 400;

/**
 * Moves a registry to its newest commit. If the configuration uses its scripts, the changes of these are shown first,
 * and a person must agree; then the paths in the configuration are replaced.
 */
export async function updateRegistry({ git, config, home, yes, print }: UpdateOptions) {
  const before = readPin(home, git);
  if (before === null) {
    throw new SubstratError('not_configured', `${git.name} is not installed. Run \`ctx registry install\`.`);
  }
  const commit = await fetchRegistry(home, git);
  const result = { name: git.name, from: before.commit, commit, moved: [] as string[] };
  if (commit === before.commit) {
    print(`${git.name}: up to date at commit ${commit.slice(0, 12)}`);
    return result;
  }
  const directory = cloneOf(home, git.name);
  const [old, fresh] = [before.commit, commit].map((one) => commitTree(directory, git.url, one)) as [
    RegistryTree,
    RegistryTree,
  ];
  const folder = commitFolder(home, git.name, before.commit);
  const used = namedFiles(config)
    .map(({ path }) => relative(folder, path))
    .filter((path) => path !== '' && !path.startsWith('..'));
  print(`${git.name}: ${before.commit.slice(0, 12)} → ${commit.slice(0, 12)}`);
  await printChanges(old, fresh, used, print);
  if (used.length > 0 && !yes && !(await agreed())) {
    throw new SubstratError('forbidden', 'Not confirmed. Nothing was changed.');
  }
  writePin(home, git, commit);
  const offered = await extensionsOf(fresh);
  for (const path of used) {
    const extension = offered.find((one) => one.path === path);
    if (!extension) {
      print(`${path} is no longer offered; the configuration keeps the old version.`);
      continue;
    }
    const registry = { name: git.name, from: git.url, git, tree: fresh, extensions: offered };
    const file = await scriptFile({ registry, tree: fresh, extension }, home);
    replacePath(config, join(folder, path), file);
    result.moved.push(idOf(extension));
  }
  return result;
}

async function printChanges(
  old: RegistryTree,
  fresh: RegistryTree,
  used: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  const [had, has] = await Promise.all([old.list(), fresh.list()]);
  for (const path of used) {
    if (!has.includes(path)) continue;
    const lines = differenceOf(had.includes(path) ? await old.read(path) : '', await fresh.read(path));
    if (lines.length === 0) continue;
    print(`${path}:`);
    for (const line of lines.slice(0, MOST_LINES)) print(`  ${line}`);
    if (lines.length > MOST_LINES) print(`  … and ${lines.length - MOST_LINES} more lines`);
  }
}

function replacePath({ file }: Config, from: string, to: string): void {
  if (file === null) return;
  const source = readFileSync(file, 'utf8');
  const changed = source.replaceAll(tomlString(from), () => tomlString(to));
  if (changed === source) {
    throw new SubstratError('conflict', `${file} writes the path ${from} in another form. Change it to ${to}.`);
  }
  const place = realpathSync(file);
  writeFileSync(`${place}.new`, changed, { mode: statSync(place).mode & 0o777 });
  renameSync(`${place}.new`, place);
}

function agreed(): Promise<boolean> {
  if (process.stdin.isTTY && process.stdout.isTTY)
    return consents('Use these versions?', process.stdin, process.stderr);
  throw new UsageError('Cannot ask for confirmation without a terminal. Read the changes, then add --yes.');
}
