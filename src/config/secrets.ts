import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';

/** As `${NAME}` in the configuration. */
const NAME = /^[A-Za-z_]\w{0,127}$/;
const MAX_BYTES = 64 * 1024;
/** Programs are started with these; a secret must not replace them. */
const TAKEN = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ', 'SHELL', 'USER', 'NODE_OPTIONS', 'LD_PRELOAD'];

/**
 * Secrets are files in the home that only its owner can read, one per secret. A service does not have the variables of
 * a shell, so a secret wins over a variable with the same name: the daemon is the same however it was started.
 */
export function withSecrets(env: Environment, home: string): Environment {
  const names = listSecrets(home);
  if (names.length === 0) return env;
  return { ...env, ...Object.fromEntries(names.map((name) => [name, readSecret(home, name)])) };
}

export function listSecrets(home: string): string[] {
  try {
    return readdirSync(directoryOf(home))
      .filter((name) => NAME.test(name))
      .sort();
  } catch {
    return [];
  }
}

/** Replaces the whole file at once: a crash leaves the old value or the new one. */
export function setSecret(home: string, name: string, value: string): void {
  checkName(name);
  if (value === '') throw new SubstratError('bad_request', `The value of ${name} is empty.`);
  if (value.includes('\0')) throw new SubstratError('bad_request', `The value of ${name} contains a NUL character.`);
  if (Buffer.byteLength(value) > MAX_BYTES) {
    throw new SubstratError('bad_request', `The value of ${name} is longer than ${MAX_BYTES / 1024} KiB.`);
  }
  const directory = directoryOf(home);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  const file = join(directory, `.${name}.${process.pid}`);
  writeFileSync(file, value, { mode: 0o600 });
  renameSync(file, join(directory, name));
}

export function deleteSecret(home: string, name: string): void {
  checkName(name);
  if (!listSecrets(home).includes(name)) throw new SubstratError('not_found', `There is no secret ${name}.`);
  rmSync(join(directoryOf(home), name));
}

function readSecret(home: string, name: string): string {
  const file = join(directoryOf(home), name);
  try {
    const value = readRegularText(file, { maxBytes: MAX_BYTES, links: 'refuse' });
    // After it was read: the mode of a link would change the file that it leads to.
    if ((lstatSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    return value;
  } catch (error) {
    const reason = error instanceof UnreadableFile ? error.message : (error as Error).message;
    throw new SubstratError('config', `The secret ${name} (${file}) cannot be read: ${reason}.`, { cause: error });
  }
}

function checkName(name: string): void {
  if (!NAME.test(name)) {
    throw new SubstratError(
      'bad_request',
      `"${name}" is not a valid name: use letters, digits and "_", as in OPENAI_API_KEY.`,
    );
  }
  if (TAKEN.includes(name))
    throw new SubstratError('bad_request', `${name} cannot be a secret: programs depend on it.`);
}

function directoryOf(home: string): string {
  return join(home, 'secrets');
}
