import { join } from 'node:path';
import { runSubstrat, start } from './substrat.ts';

export const ctxLauncher = join(import.meta.dirname, '../../bin/ctx');

/** Runs `ctx` to its end in a directory, which is its home too. */
export function runCtx(directory: string, ...args: readonly string[]) {
  return runSubstrat(args, { home: join(directory, 'home'), cwd: directory, program: ctxLauncher });
}

/** Starts `ctx` as `runCtx` does, and leaves it running. `said` is what it has printed so far. */
export function startCtx(directory: string, ...args: readonly string[]) {
  const child = start(args, { home: join(directory, 'home'), cwd: directory, program: ctxLauncher });
  let output = '';
  const keep = (chunk: Buffer) => {
    output += chunk;
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return { child, said: () => output };
}

/** What `ctx … --json` prints; a failure is an error with what it said. */
export async function ctxJson<T>(directory: string, ...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await runCtx(directory, ...args, '--json');
  if (code !== 0) throw new Error(`ctx ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
