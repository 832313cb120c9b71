import { statSync } from 'node:fs';
import { UsageError } from '../command-line/context.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText } from '../core/regular-file.ts';

export interface TokenFlags {
  readonly token?: string;
  readonly tokenFile?: string;
}

const MAX_BYTES = 4_096;

/** The token that clients must send: from a file, the environment or the command line; null for none. */
export function readServeToken(
  { token, tokenFile }: TokenFlags,
  env: Record<string, string | undefined>,
  warn: (message: string) => void,
): string | null {
  if (token === '') throw new UsageError('--token must not be empty.');
  if (token !== undefined && tokenFile !== undefined) throw new UsageError('Give --token or --token-file, not both.');
  const given = env.CTX_TOKEN;
  // Child processes, and scripts that may read variables, must not see it.
  delete env.CTX_TOKEN;
  if (tokenFile !== undefined) return fromFile(tokenFile, warn);
  if (token !== undefined) return token;
  return given === undefined ? null : checked(given, 'CTX_TOKEN');
}

function fromFile(file: string, warn: (message: string) => void): string {
  let content: string;
  try {
    content = readRegularText(file, { maxBytes: MAX_BYTES, links: 'follow' });
  } catch (error) {
    throw new SubstratError('config', `--token-file ${file}: ${(error as Error).message}.`, { cause: error });
  }
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    warn(`other users of this machine can read ${file}; run \`chmod 600\` on it.`);
  }
  return checked(content, `--token-file ${file}`);
}

/** It is sent in a header: no spaces, no line breaks. */
function checked(text: string, where: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new SubstratError('config', `${where}: a token is one word of printable ASCII characters.`);
}
