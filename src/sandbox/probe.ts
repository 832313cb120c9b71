import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

const INSTALL = 'Install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap).';
const OR_NONE = 'To run agents without a sandbox, with your full permissions, set `[sandbox] mode = "none"`.';
const PATIENCE_MS = 10_000;

/** Separate namespaces, no capabilities, and killed together with the daemon. */
export const namespaces = [
  '--unshare-all',
  '--unshare-user',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
];

/** Returns null if it is not on the PATH. */
export function findBwrap(path: string): string | null {
  const candidates = path.split(':').filter(isAbsolute);
  return candidates.map((directory) => join(directory, 'bwrap')).find(isExecutable) ?? null;
}

/** Tests what a turn needs from bwrap. Returns what is wrong and how to fix it, or null. */
export async function probeBwrap(path: string): Promise<string | null> {
  if (process.platform !== 'linux') return `The sandbox is bwrap, which needs Linux. ${OR_NONE}`;
  const bwrap = findBwrap(path);
  if (bwrap === null) return `bwrap is not installed, so agents cannot start. ${INSTALL} ${OR_NONE}`;
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '1048576', '--tmpfs', '/tmp'];
  const more = ['--ro-bind-fd', '3', '/tmp', '--remount-ro', '/proc'];
  const failure = await run(bwrap, [...namespaces, ...mounts, ...more, '--', 'true'], path);
  return failure === null ? null : explain(failure);
}

/** Turns bwrap's error into advice. */
function explain(said: string): string {
  if (said.includes('Unknown option')) {
    return `This bwrap is too old (${said}): it must support --size and --bind-fd. Install version 0.10 or newer. ${OR_NONE}`;
  }
  const isRefused = /namespace|uid map|loopback|Operation not permitted|Permission denied/i.test(said);
  const mend = isRefused
    ? 'The kernel does not allow what the sandbox needs. Allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), ' +
      'kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap (Ubuntu), user.max_user_namespaces above 0; ' +
      'in a container, the host must allow them.'
    : 'Run `substrat doctor` to check again.';
  return `bwrap cannot create a sandbox, so agents cannot start: ${said}. ${mend} ${OR_NONE}`;
}

/** Returns the program's error output, or null if it succeeded. */
function run(file: string, args: readonly string[], path: string): Promise<string | null> {
  const root = openSync('/', 'r');
  const child = spawn(file, args, {
    env: { PATH: path },
    stdio: ['ignore', 'ignore', 'pipe', root],
    timeout: PATIENCE_MS,
    killSignal: 'SIGKILL',
  });
  closeSync(root);
  return new Promise((resolve) => {
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => {
      const words = said
        .trim()
        .replace(/^bwrap: /, '')
        .replace(/\.$/, '');
      resolve(code === 0 ? null : words || `it exited with ${signal ?? code}`);
    });
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
