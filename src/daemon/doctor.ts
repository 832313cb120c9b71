import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SubstratError } from '../core/errors.ts';
import type { Finding } from '../http/api.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/substrat', import.meta.url));
const TIMEOUT_MS = 60_000;
const MOST_BYTES = 1024 * 1024;

/**
 * Runs `substrat doctor` on this home, in a process of its own: its checks take long and start programs. Requests that
 * come meanwhile get the same findings.
 */
export function createDoctor(home: string, configFile: string | null): () => Promise<readonly Finding[]> {
  let running: Promise<readonly Finding[]> | null = null;
  return () => {
    running ??= examine(home, configFile).finally(() => {
      running = null;
    });
    return running;
  };
}

function examine(home: string, configFile: string | null): Promise<readonly Finding[]> {
  const args = ['doctor', '--json', ...(configFile === null ? [] : ['--config', configFile])];
  const options = {
    cwd: home,
    env: { ...process.env, SUBSTRAT_HOME: home },
    timeout: TIMEOUT_MS,
    maxBuffer: MOST_BYTES,
  };
  return new Promise((resolve, reject) => {
    // With a problem it exits with 1, and prints its findings all the same.
    execFile(LAUNCHER, args, options, (error, stdout) => {
      try {
        resolve((JSON.parse(stdout) as { findings: Finding[] }).findings);
      } catch {
        const reason = error?.message.split('\n', 1)[0] ?? 'it printed no findings';
        reject(new SubstratError('internal', `\`substrat doctor\` could not be run: ${reason}.`, { cause: error }));
      }
    });
  });
}
