import { readFileSync } from 'node:fs';
import { runCommandLine } from '../cli/command-line.ts';
import { createProgram } from './program.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

// What is made here is the owner's only.
process.umask(0o077);
await runCommandLine((named) => createProgram(version, named));
