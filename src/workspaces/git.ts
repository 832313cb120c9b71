import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';
import { withUserUmask } from '../core/umask.ts';

const run = promisify(execFile);

/** Only the repository's own configuration may decide what is executed: no hooks, no fsmonitor, no user settings. */
const QUIET = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'gc.auto=0'];

/** Runs git without a shell in a clean environment and returns its output. */
export async function git(
  directory: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  try {
    const options = {
      cwd: directory,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: '/nonexistent',
        LC_ALL: 'C',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_TERMINAL_PROMPT: '0',
        GIT_OPTIONAL_LOCKS: '0',
        ...env,
      },
      maxBuffer: 16 * 1024 * 1024,
    };
    const { stdout } = await withUserUmask(() => run('git', [...QUIET, ...args], options));
    return stdout.trimEnd();
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: string };
    const reason = code === 'ENOENT' ? 'git is not installed.' : shorten(String(stderr ?? '').trim(), 400);
    throw new SubstratError('bad_request', `git ${args[0]} failed: ${reason}`, { cause: error });
  }
}
