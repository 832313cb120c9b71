import { runCommandLine } from '../command-line/command-line.ts';
import { VERSION } from '../core/version.ts';
import { createProgram } from './program.ts';

void runCommandLine(
  (named) => createProgram(VERSION, named),
  async () => (await import('./other-version.ts')).otherVersion(),
);
