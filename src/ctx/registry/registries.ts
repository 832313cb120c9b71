import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { SubstratError } from '../../core/errors.ts';
import { type Extension, extensionsOf, idOf } from './extensions.ts';
import { cloneOf, type GitRegistry, readPin } from './pins.ts';
import { commitTree, directoryTree, type RegistryTree } from './tree.ts';

/** A configured registry. `tree` is null if it is not installed. */
export interface OpenedRegistry {
  readonly name: string;
  /** Where it comes from: the URL without credentials, or the directory. */
  readonly from: string;
  readonly git: GitRegistry | null;
  readonly tree: RegistryTree | null;
  readonly extensions: readonly Extension[];
}

export interface FoundExtension {
  readonly registry: OpenedRegistry;
  readonly tree: RegistryTree;
  readonly extension: Extension;
}

export async function openRegistries({ registries }: Pick<Config, 'registries'>, home: string) {
  const opened: OpenedRegistry[] = [];
  for (const [name, { url, branch, path }] of Object.entries(registries)) {
    const git = url === null ? null : { name, url, branch };
    const tree = git === null ? directoryTree(path ?? '') : pinnedTree(git, home);
    const from = url === null ? (path ?? '') : url.replace(/:\/\/[^/]*@/, '://');
    opened.push({ name, from, git, tree, extensions: tree === null ? [] : await extensionsOf(tree) });
  }
  return opened;
}

function pinnedTree(git: GitRegistry, home: string): RegistryTree | null {
  const pin = readPin(home, git);
  return pin === null ? null : commitTree(cloneOf(home, git.name), git.url, pin.commit);
}

/** `tools/x`, or `REGISTRY/tools/x`. Of several registries that offer it, the last one of the configuration counts. */
export function findExtension(registries: readonly OpenedRegistry[], wanted: string): FoundExtension {
  const found = registries.flatMap((registry) => {
    const { name, tree, extensions } = registry;
    const isMeant = (one: Extension) => [idOf(one), `${name}/${idOf(one)}`].includes(wanted);
    return tree === null ? [] : extensions.filter(isMeant).map((extension) => ({ registry, tree, extension }));
  });
  const last = found.at(-1);
  if (last) return last;
  const missing = registries.filter(({ tree }) => tree === null).map(({ name }) => name);
  const hint = missing.length === 0 ? '' : ` Not installed: ${missing.join(', ')}. Run \`ctx registry install\`.`;
  throw new SubstratError('not_found', `No registry offers "${wanted}". \`ctx registry list\` lists all.${hint}`);
}

/**
 * The file of a script. One of a commit is copied into the home, below the name of the commit, so that an update of the
 * registry does not change what a configuration runs.
 */
export async function scriptFile({ registry, tree, extension }: FoundExtension, home: string): Promise<string> {
  if (tree.commit === null) return join(registry.from, extension.path);
  const file = join(commitFolder(home, registry.name, tree.commit), extension.path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, await tree.read(extension.path), { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return file;
}

export function commitFolder(home: string, name: string, commit: string): string {
  return join(home, 'registries', 'scripts', name, commit);
}
