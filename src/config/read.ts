import { parse, TomlError } from 'smol-toml';
import { SubstratError } from '../core/errors.ts';
import { readRegularFile, UnreadableFile } from '../core/regular-file.ts';

/** A larger file is a mistake or an attack. */
const MAX_BYTES = 1024 * 1024;

/** Follows symlinks: people keep their configuration in a repository and link to it. */
export function readSource(file: string, name: string): string {
  try {
    const bytes = readRegularFile(file, { maxBytes: MAX_BYTES, links: 'follow' });
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new SubstratError('config', `${name}: ${reason(error)}`, { cause: error });
  }
}

/** The error has no `cause`: smol-toml's error quotes the source, which may contain secrets near the mistake. */
export function parseSource(source: string, name: string): Record<string, unknown> {
  try {
    return parse(source);
  } catch (error) {
    if (!(error instanceof TomlError)) throw new SubstratError('config', `${name}: not valid TOML`);
    const [message] = error.message.replace('Invalid TOML document: ', '').split('\n');
    throw new SubstratError('config', `${name}:${error.line}: ${message}`);
  }
}

function reason(error: unknown): string {
  if (error instanceof TypeError) return 'the file is not UTF-8 text';
  if (!(error instanceof UnreadableFile)) return 'the file cannot be read';
  return error.code === 'ENOENT' ? 'the configuration file does not exist' : error.message;
}
