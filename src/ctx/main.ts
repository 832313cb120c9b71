import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { UsageError } from '../cli/context.ts';
import { SubstratError } from '../core/errors.ts';
import { createProgram } from './program.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

// What is made here is the owner's only.
process.umask(0o077);
// Whoever reads us may have seen enough (`| head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await (await createProgram(version, process.argv[2])).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** 0 done, 1 it failed, 2 wrong usage. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const known = error instanceof SubstratError || error instanceof UsageError;
  process.stderr.write(`ctx: ${known ? error.message : (error as Error).stack}\n`);
  return error instanceof UsageError ? 2 : 1;
}
