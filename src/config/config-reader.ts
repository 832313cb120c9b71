import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { type Config, DAEMON_SECTIONS, displayName, type LoadOptions, loadConfig } from './config.ts';
import { findConfig } from './find-config.ts';
import { tightenHome } from './home.ts';
import { type Admitted, examineFound, type FoundOptions, loadFound } from './trust.ts';
import { recordPath, type TrustRecord } from './trust-records.ts';

/** The source of a command's configuration. Trust is checked at every read. */
export interface ConfigReader {
  /** Loads the current configuration. If it throws, the previous one stays in effect. */
  load(): Config;
  /** The content of a script that the configuration names. */
  readScript(path: string): Promise<string>;
  /** Whether the configuration was found in the current directory and is trusted. */
  readonly trusted: boolean;
  /** The file that changes when a person grants or revokes trust; null if no trust is needed. */
  readonly record: string | null;
  /** The directory that an untrusted configuration may not leave; null for any other. */
  readonly within: string | null;
}

export interface ReaderOptions extends Omit<LoadOptions, 'file'> {
  /** The value of `--config`. */
  readonly named: string | undefined;
  /** Trusts the configuration in the current directory as it is at the first read, for this reader only. */
  readonly trust: boolean;
  /** Called with the file that is used, if it was not named. */
  readonly say: (message: string) => void;
  /** Reads a script of a configuration that needs no trust. */
  readonly readScript: ConfigReader['readScript'];
  /** Called with each warning about the configuration, once. */
  readonly warn: (message: string) => void;
}

export function createConfigReader(options: ReaderOptions): ConfigReader {
  const reader = readerOf({ ...options, unused: DAEMON_SECTIONS });
  return withWarnings(reader, options.warn);
}

/** Files are read again whenever they change; each warning is shown once. */
export function withWarnings(reader: ConfigReader, warn: (message: string) => void): ConfigReader {
  const known = new Set<string>();
  const load = () => {
    const config = reader.load();
    for (const warning of config.warnings) if (!known.has(warning)) warn(warning);
    for (const warning of config.warnings) known.add(warning);
    return config;
  };
  return {
    load,
    readScript: reader.readScript,
    record: reader.record,
    get trusted() {
      return reader.trusted;
    },
    get within() {
      return reader.within;
    },
  };
}

function readerOf({ named, trust, say, readScript, ...around }: Omit<ReaderOptions, 'warn'>): ConfigReader {
  const { file, how } = findConfig({ named, ...around });
  tightenHome(around.home);
  if (how !== 'directory' || file === null) {
    if (how !== 'named' && existsSync(join(around.cwd, 'substrat.toml'))) {
      say('substrat.toml in this directory is not read. To use it, add `--config substrat.toml`.');
    }
    return {
      load: () => loadConfig({ ...around, file: file ?? undefined }),
      readScript,
      trusted: false,
      record: null,
      within: null,
    };
  }
  const options = { ...around, file };
  const record = recordPath(around.home, realpathSync(file));
  let once: TrustRecord | null = null;
  let current: Admitted | null = null;
  return {
    record,
    load: () => {
      if (trust) once ??= trustOnce(options);
      const isFirst = current === null;
      current = loadFound(options, once);
      if (isFirst) say(`using ${displayName(file, around.cwd)} (${current.trusted ? 'trusted' : 'not trusted'})`);
      return current.config;
    },
    readScript: async (path) => {
      if (current === null) throw new SubstratError('config', `${path} is not part of the configuration`);
      return current.readScript(path);
    },
    get trusted() {
      return current?.trusted ?? false;
    },
    get within() {
      return current?.within ?? null;
    },
  };
}

function trustOnce(options: FoundOptions): TrustRecord {
  const { record, problem } = examineFound(options);
  if (problem === null) return record;
  throw new SubstratError('forbidden', `${options.file} cannot be trusted: ${problem}.`);
}
