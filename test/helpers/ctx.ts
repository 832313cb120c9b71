import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runSubstrat, start } from './substrat.ts';

export const ctxLauncher = join(import.meta.dirname, '../../bin/ctx');

/** Runs `ctx` to its end in a directory, with the directory's `ctx.toml`, which the environment names. */
export function runCtx(directory: string, ...args: readonly string[]) {
  return runSubstrat(args, placeOf(directory));
}

/** Starts `ctx` like `runCtx`, and leaves it running. `said` is its output so far. */
export function startCtx(directory: string, ...args: readonly string[]) {
  const child = start(args, placeOf(directory));
  let output = '';
  const keep = (chunk: Buffer) => {
    output += chunk;
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return { child, said: () => output };
}

/** The output of `ctx … --json`; a failure is an error with its output. */
export async function ctxJson<T>(directory: string, ...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await runCtx(directory, ...args, '--json');
  if (code !== 0) throw new Error(`ctx ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

function placeOf(directory: string) {
  const file = join(directory, 'ctx.toml');
  const env: Record<string, string> = existsSync(file) ? { CTX_CONFIG: file } : {};
  return { home: join(directory, 'home'), cwd: directory, program: ctxLauncher, env };
}
