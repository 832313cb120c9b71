import { hash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import { type Config, displayName, type LoadOptions, loadConfig } from './config.ts';
import { type Unset, variablesOf } from './expand.ts';
import { ownershipProblem } from './ownership.ts';
import { parseSource, readSource } from './read.ts';
import { readRecord, type TrustRecord } from './trust-records.ts';
import { type NamedFile, namedFiles, oneLine, type Want, wantsOf } from './wants.ts';

/** A configuration found in the current directory, and what it may do. */
export interface Admitted {
  readonly config: Config;
  /** False: it needs no trust, and may only index and search its own directory. */
  readonly trusted: boolean;
  /** The directory that it must not leave; null if it is trusted. */
  readonly within: string | null;
  /** The content of a file that it names, as it was when its hash was checked. */
  readonly readScript: (path: string) => Promise<string>;
}

/** What trusting a configuration would allow. */
export interface Examined {
  readonly record: TrustRecord;
  readonly wants: readonly Want[];
  readonly modules: readonly string[];
  /** Why it cannot be trusted. */
  readonly problem: string | null;
}

export type FoundOptions = LoadOptions & { readonly file: string };

const MAX_SCRIPT = 1024 * 1024;

/**
 * Loads a configuration that the user did not name. The file and the files it names are read once, compared with what
 * was trusted, and used as read. `once` is trust for this command only.
 */
export function loadFound(options: FoundOptions, once: TrustRecord | null): Admitted {
  const file = realFile(options);
  const source = readSource(file, displayName(options.file, options.cwd));
  const record = once ?? readRecord(options.home, file);
  if (record === null || record.files[file]?.sha256 !== hash('sha256', source)) {
    return admitUntrusted({ ...options, source }, file, record);
  }
  const config = loadConfig({ ...options, source });
  const read = new Map(namedFiles(config).map(({ path }) => [path, contentOf(path)]));
  const problem = problemOf(placesOf(file, config));
  if (problem !== null) throw new SubstratError('forbidden', `${problem}, so ${options.file} is no longer trusted.`);
  const changed = [...read].filter(([path, text]) => !isSame(record, path, text)).map(([path]) => path);
  if (changed.length > 0) throw changedSince(options.file, record, changed);
  return { config, trusted: true, within: null, readScript: async (path) => read.get(path) ?? missing(path) };
}

/** Everything that a person needs to decide whether to trust a configuration. */
export function examineFound(options: FoundOptions): Examined {
  const file = realFile(options);
  const name = displayName(options.file, options.cwd);
  const source = readSource(file, name);
  // An unset variable may be set later; trust covers the text.
  const config = loadConfig({ ...options, source, unset: 'name' });
  const named = namedFiles(config);
  const contents = new Map([
    [file, source],
    ...named.map(({ path }): [string, string | null] => [path, contentOf(path)]),
  ]);
  const files = Object.fromEntries(
    [...contents].map(([path, text]) => [path, text === null ? null : { sha256: hash('sha256', text), text }]),
  );
  return {
    record: { file, at: new Date().toISOString(), files },
    wants: [...variableWants(source, name), ...wantsOf(config, dirname(file))],
    modules: named.filter(isModule).map(({ path }) => path),
    problem: problemOf(placesOf(file, config)),
  };
}

function admitUntrusted(
  options: FoundOptions & { source: string },
  file: string,
  record: TrustRecord | null,
): Admitted {
  const directory = dirname(file);
  const variables = variableWants(options.source, displayName(options.file, options.cwd));
  // Without variables it reads the same with any environment.
  const load = (unset?: Unset) => loadConfig({ ...options, env: {}, unset });
  const config = variables.length === 0 ? load() : null;
  const wants = [...variables, ...(config === null ? otherWants(load, directory) : wantsOf(config, directory))];
  if (config === null || wants.length > 0) throw untrusted(options.file, wants, record, problemOf([file]));
  return { config, trusted: false, within: directory, readScript: async (path) => missing(path) };
}

function variableWants(source: string, name: string): Want[] {
  return variablesOf(parseSource(source, name)).map((variable) => ({
    table: oneLine(variable.table),
    text: `use the environment variable ${variable.name}`,
  }));
}

/**
 * What can be determined without the environment. A configuration that needs the environment to load is shown once it
 * is trusted with it.
 */
function otherWants(load: (unset: Unset) => Config, directory: string): Want[] {
  try {
    return wantsOf(load('name'), directory);
  } catch {
    return [];
  }
}

/** A symlink could lead elsewhere, which would make "its directory" ambiguous. */
function realFile({ file, cwd }: FoundOptions): string {
  const real = realpathSync(file);
  const expected = join(realpathSync(cwd), relative(cwd, file));
  if (real === expected || relative(cwd, file).startsWith('..')) return real;
  throw new SubstratError(
    'forbidden',
    `${file} is reached by a symbolic link, which is not followed. Use \`--config ${real}\`.`,
  );
}

function contentOf(path: string): string | null {
  try {
    return readRegularText(path, { maxBytes: MAX_SCRIPT, links: 'follow' });
  } catch (error) {
    if (!(error instanceof UnreadableFile) || error.code === 'ENOENT') return null;
    throw new SubstratError('config', `${path}: ${error.message}.`, { cause: error });
  }
}

function isSame({ files }: TrustRecord, path: string, text: string | null): boolean {
  if (!Object.hasOwn(files, path)) return false;
  return text === null ? files[path] === null : files[path]?.sha256 === hash('sha256', text);
}

function isModule({ kind }: NamedFile): boolean {
  return kind === 'module';
}

/** Everything that another user could change: a module imports files next to it. */
function placesOf(file: string, config: Config): string[] {
  const named = namedFiles(config);
  return [file, ...named.map(({ path }) => path), ...named.filter(isModule).map(({ path }) => dirname(path))];
}

function problemOf(files: readonly string[]): string | null {
  return files.map(ownershipProblem).find((problem) => problem !== null) ?? null;
}

function missing(path: string): never {
  throw new SubstratError('config', `${path}: there is no such file`);
}

function untrusted(
  file: string,
  wants: readonly Want[],
  record: TrustRecord | null,
  problem: string | null,
): SubstratError {
  const why = record === null ? 'is not trusted' : `has changed since you trusted it on ${record.at.slice(0, 10)}`;
  const list = wants.map(({ table, text }) => `  ${text} (${table})`);
  const look = record === null ? 'Read it, then run `ctx trust`' : 'Run `ctx trust` to see the difference';
  const todo =
    problem === null
      ? `${look}. To use it for one command only, add \`--trust\`.`
      : `It cannot be trusted: ${problem}.`;
  return new SubstratError('forbidden', [`${file} ${why}, and it wants to:`, ...list, todo].join('\n'));
}

function changedSince(file: string, record: TrustRecord, changed: readonly string[]): SubstratError {
  const names = changed.map((path) => relative(dirname(record.file), path)).join(', ');
  return new SubstratError(
    'forbidden',
    `${file} was trusted on ${record.at.slice(0, 10)}, but ${names} ${changed.length === 1 ? 'has' : 'have'} changed since. Run \`ctx trust\` to see the difference.`,
  );
}
