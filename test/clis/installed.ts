import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** A program of the npm registry with a fixed version. */
export interface Pinned {
  readonly packages: readonly string[];
  /** The file to start, in `node_modules`. */
  readonly file: string;
}

const CACHE = process.env.SUBSTRAT_CLIS ?? join(homedir(), '.cache/substrat-clis');

/** The file to start, if it was installed. */
export function findInstalled(pinned: Pinned): string | null {
  const path = join(directoryOf(pinned), 'node_modules', pinned.file);
  return existsSync(path) ? path : null;
}

/** Installs it into a cache outside of the repository unless it is there, and returns the file to start. */
export async function install(pinned: Pinned): Promise<string> {
  const found = findInstalled(pinned);
  if (found !== null) return found;
  const { packages, file } = pinned;
  const directory = directoryOf(pinned);
  mkdirSync(directory, { recursive: true });
  const npm = join(dirname(process.execPath), 'npm');
  const args = ['install', '--prefix', directory, '--ignore-scripts', '--no-audit', '--no-fund', ...packages];
  await promisify(execFile)(existsSync(npm) ? npm : 'npm', args);
  const installed = findInstalled(pinned);
  if (installed === null) throw new Error(`${packages.join(' ')} has no file ${file}.`);
  return installed;
}

function directoryOf({ packages }: Pinned): string {
  return join(CACHE, packages.join('+').replaceAll('/', '_'));
}
