import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, displayName, type LoadOptions, loadConfig } from '../config/config.ts';
import { tightenHome } from '../config/home.ts';
import { type Admitted, examineFound, type FoundOptions, loadFound } from '../config/trust.ts';
import { recordPath, type TrustRecord } from '../config/trust-records.ts';
import { SubstratError } from '../core/errors.ts';
import { readScript } from '../scripting/open.ts';
import { findConfig } from './find-config.ts';

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
}

export function createConfigReader({ named, trust, say, ...around }: ReaderOptions): ConfigReader {
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
