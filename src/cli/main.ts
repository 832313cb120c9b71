import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { SubstratError } from '../core/errors.ts';
import { UsageError } from './context.ts';
import { createProgram } from './program.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

// Whoever reads us may have seen enough (`| head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  // A word before the command can only be an option, or the value of one: then everything is loaded.
  await (await createProgram(version, process.argv[2])).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** 0 done, 1 it failed, 2 wrong usage. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const known = error instanceof SubstratError || error instanceof UsageError;
  process.stderr.write(`substrat: ${known ? error.message : (error as Error).stack}\n`);
  return error instanceof UsageError ? 2 : 1;
}
