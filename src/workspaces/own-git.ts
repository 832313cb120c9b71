import { spawn } from 'node:child_process';
import { hash as digest } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';

export interface OwnGitOptions {
  /** A descriptor, or the text itself. */
  readonly input?: number | string;
  /** It speaks to a server of the person, with the person's logins. */
  readonly remote?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const MAX_OUTPUT = 64 * 1024 * 1024;
/** Nothing of an agent's decides what is executed, and of the person's settings only what a remote needs. */
const QUIET = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'commit.gpgSign=false',
  'push.gpgSign=false',
  'push.recurseSubmodules=no',
  'fetch.recurseSubmodules=no',
].flatMap((setting) => ['-c', setting]);

/**
 * Runs git in a bare repository of the daemon. No agent can write to it, and attributes of the files in it are not read.
 */
export function ownGit(repository: string, args: readonly string[], options: OwnGitOptions = {}): Promise<Buffer> {
  const { input = '', remote = false, timeoutMs = 60_000 } = options;
  const home = process.env.HOME ?? '/nonexistent';
  const logins = remote
    ? { HOME: home, GIT_CONFIG_GLOBAL: `${home}/.gitconfig`, SSH_AUTH_SOCK: process.env.SSH_AUTH_SOCK ?? '' }
    : {};
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    ...logins,
    ...options.env,
  };
  const child = spawn('git', [...QUIET, `--git-dir=${repository}`, ...args], {
    cwd: '/',
    env,
    stdio: [typeof input === 'number' ? input : 'pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let [size, said] = [0, ''];
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUTPUT) child.kill('SIGKILL');
      else chunks.push(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 4_000) said += chunk;
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) return resolve(Buffer.concat(chunks));
      reject(new SubstratError('conflict', `git ${args[0]} failed: ${shorten(withoutLogins(said).trim(), 400)}`));
    });
  });
}

/** Creates the repository if it does not exist. */
export async function openOwn(repository: string): Promise<string> {
  if (existsSync(repository)) return repository;
  mkdirSync(dirname(repository), { recursive: true, mode: 0o700 });
  await ownGit(repository, ['init', '--quiet', '--bare', '--template=', repository]);
  return repository;
}

export async function ownGitText(repository: string, args: readonly string[], options?: OwnGitOptions) {
  return (await ownGit(repository, args, options)).toString('utf8').trim();
}

/** The directory that an address means on this machine; null for a server. */
export function localPath(address: string): string | null {
  if (address.startsWith('file://')) return decodeURIComponent(address.slice('file://'.length));
  const isServer = /^[\w+.-]+:\/\//.test(address) || /^[^/]*:/.test(address);
  return isServer ? null : resolve('/', address);
}

/** Tells remotes apart without their address, which may contain a login. */
export function remoteKey(address: string): string {
  return digest('sha256', withoutLogins(address)).slice(0, 16);
}

export function withoutLogins(text: string): string {
  return text.replaceAll(/:\/\/[^/\s@]+@/g, '://');
}
