import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { depthOf, isInside } from './paths.ts';

/** The paths that make an installed program usable. */
export interface Installation {
  readonly file: string;
  /** The file with all symlinks resolved. */
  readonly real: string;
  /** Mounted read-only: its package, its prefix, its directory, or only the file. */
  readonly shown: readonly string[];
}

interface ProgramSearch {
  readonly cwd: string;
  readonly path: string;
  /** Substrat's home; nothing that contains it is shown. */
  readonly home: string;
}

/**
 * An agent's own program and its surroundings. Agents may be able to write it, so neither a symlink in its place nor
 * its shebang may expose anything else: its interpreter must be visible anyway. Returns null if the file does not
 * exist.
 */
export function findOwnProgram(program: string, where: ProgramSearch): Installation | null {
  const file = locate(program, where);
  return file === null ? null : { file, real: file, shown: [rootOf(file, where.home)] };
}

/** Finds a program that a person named, as the shell does, and its interpreter. Empty if the file does not exist. */
export function findInstallations(program: string, where: ProgramSearch): Installation[] {
  const file = locate(program, where);
  if (file === null) return [];
  const real = realpathSync(file);
  const shown = [rootOf(real, where.home)];
  // A Python virtual environment is identified by the location of the symlink.
  if (real !== file && existsSync(join(dirname(file), '../pyvenv.cfg'))) shown.push(rootOf(file, where.home));
  const interpreter = interpreterOf(real);
  return [{ file, real, shown }, ...(interpreter === null ? [] : findInstallations(interpreter, where))];
}

function locate(program: string, { cwd, path }: ProgramSearch): string | null {
  if (isAbsolute(program)) return isFile(program) ? program : null;
  if (program.includes(sep)) return isFile(resolve(cwd, program)) ? resolve(cwd, program) : null;
  const found = path.split(':').find((directory) => isAbsolute(directory) && isFile(join(directory, program)));
  return found === undefined ? null : join(found, program);
}

/** The widest directory around the program that exposes nothing it should not. */
function rootOf(file: string, home: string): string {
  const directory = dirname(file);
  const prefix = basename(directory) === 'bin' && existsSync(join(directory, '../lib')) ? dirname(directory) : null;
  const candidates = [modulesOf(file), packageOf(directory), prefix, directory];
  return candidates.find((candidate) => candidate !== null && !isTooWide(candidate, home)) ?? file;
}

/** Packages in the same directory depend on each other. */
function modulesOf(file: string): string | null {
  const [before, ...after] = file.split('/node_modules/');
  return after.length > 0 ? `${before}/node_modules` : null;
}

function packageOf(directory: string): string | null {
  if (existsSync(join(directory, 'package.json'))) return directory;
  return dirname(directory) === directory ? null : packageOf(dirname(directory));
}

function isTooWide(directory: string, home: string): boolean {
  const mine = homedir();
  return (
    depthOf(directory) < 2 ||
    isInside(directory, mine) ||
    directory === join(mine, '.local') ||
    isInside(directory, home) ||
    isInside(home, directory)
  );
}

/** The interpreter of a script, from its shebang. */
function interpreterOf(file: string): string | null {
  const head = Buffer.alloc(256);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (head.toString('latin1', 0, 2) !== '#!') return null;
  const [first = '', ...words] = (head.toString('utf8', 2).split('\n')[0] ?? '').trim().split(/\s+/);
  if (basename(first) !== 'env') return first || null;
  return words.find((word) => !word.startsWith('-') && !word.includes('=')) ?? null;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
