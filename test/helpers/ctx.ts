import { join } from 'node:path';
import { runSubstrat } from './substrat.ts';

export const ctxLauncher = join(import.meta.dirname, '../../bin/ctx');

/** Runs `ctx` to its end in a directory, which is its home too. */
export function runCtx(directory: string, ...args: readonly string[]) {
  return runSubstrat(args, { home: join(directory, 'home'), cwd: directory, program: ctxLauncher });
}

/** What `ctx … --json` prints; a failure is an error with what it said. */
export async function ctxJson<T>(directory: string, ...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await runCtx(directory, ...args, '--json');
  if (code !== 0) throw new Error(`ctx ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
