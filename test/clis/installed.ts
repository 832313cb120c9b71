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

/** Installs it into a cache outside of the repository unless it is there, and returns the file to start. */
export async function install({ packages, file }: Pinned): Promise<string> {
  const directory = join(CACHE, packages.join('+').replaceAll('/', '_'));
  const path = join(directory, 'node_modules', file);
  if (existsSync(path)) return path;
  mkdirSync(directory, { recursive: true });
  const npm = join(dirname(process.execPath), 'npm');
  const args = ['install', '--prefix', directory, '--ignore-scripts', '--no-audit', '--no-fund', ...packages];
  await promisify(execFile)(existsSync(npm) ? npm : 'npm', args);
  if (!existsSync(path)) throw new Error(`${packages.join(' ')} has no file ${file}.`);
  return path;
}
