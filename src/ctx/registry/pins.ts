import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SubstratError } from '../../core/errors.ts';
import { createGit } from '../../knowledge/connectors/git-program.ts';

/** The commit of a registry that is in use until a person updates it. */
export interface Pin {
  readonly url: string;
  readonly branch: string | null;
  readonly commit: string;
  /** ISO time. */
  readonly at: string;
}

export interface GitRegistry {
  readonly name: string;
  readonly url: string;
  readonly branch: string | null;
}

const HEAD = 'refs/substrat/head';
const COMMIT = /^[0-9a-f]{40,64}$/;

export function cloneOf(home: string, name: string): string {
  return join(home, 'registries', 'git', name);
}

/** Null if it is not installed, or was installed from another URL or branch. */
export function readPin(home: string, { name, url, branch }: GitRegistry): Pin | null {
  try {
    const pin = JSON.parse(readFileSync(pinFile(home, name), 'utf8')) as Pin;
    const isOurs = pin.url === withoutSecrets(url) && pin.branch === branch && COMMIT.test(pin.commit);
    return isOurs ? pin : null;
  } catch {
    return null;
  }
}

export function writePin(home: string, { name, url, branch }: GitRegistry, commit: string): void {
  const pin: Pin = { url: withoutSecrets(url), branch, commit, at: new Date().toISOString() };
  const file = pinFile(home, name);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, JSON.stringify(pin), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Returns the newest commit of the branch. The pin stays where it is. */
export async function fetchRegistry(home: string, { name, url, branch }: GitRegistry): Promise<string> {
  const directory = cloneOf(home, name);
  const git = createGit(directory, url);
  if (!existsSync(join(directory, 'HEAD'))) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    await git.run(['init', '--bare', '--quiet', directory]);
  }
  const from = branch === null ? 'HEAD' : `refs/heads/${branch}`;
  await git.run(['fetch', '--quiet', '--no-tags', '--force', 'origin', `+${from}:${HEAD}`]);
  const commit = (await git.run(['rev-parse', '--verify', `${HEAD}^{commit}`])).trim();
  // Keeps the objects of the commits that were ever pinned.
  await git.run(['update-ref', `refs/substrat/seen/${commit}`, commit]);
  if (COMMIT.test(commit)) return commit;
  throw new SubstratError('unsupported', `${name}: git returned no commit.`);
}

function pinFile(home: string, name: string): string {
  return join(home, 'registries', `${name}.json`);
}

function withoutSecrets(url: string): string {
  return url.replace(/:\/\/[^/]*@/, '://');
}
