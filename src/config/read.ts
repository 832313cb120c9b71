import { readFileSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import { SubstratError } from '../core/errors.ts';

export function readSource(file: string, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new SubstratError('config', `${name}: ${reason(error)}`, { cause: error });
  }
}

/** The error has no `cause`: smol-toml's quotes the source, and with it whatever secrets stand near the mistake. */
export function parseSource(source: string, name: string): Record<string, unknown> {
  try {
    return parse(source);
  } catch (error) {
    if (!(error instanceof TomlError)) throw new SubstratError('config', `${name}: this cannot be read as TOML`);
    const [message] = error.message.replace('Invalid TOML document: ', '').split('\n');
    throw new SubstratError('config', `${name}:${error.line}: ${message}`);
  }
}

function reason(error: unknown): string {
  if (error instanceof TypeError) return 'this file is not UTF-8 text';
  const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
  if (code === 'ENOENT') return 'there is no such configuration file';
  if (code === 'EISDIR') return 'this is a directory, not a configuration file';
  return `this file cannot be read (${code})`;
}
