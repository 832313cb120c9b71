import { readFileSync } from 'node:fs';
import { runCommandLine } from '../command-line/command-line.ts';
import { createProgram } from './program.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

void runCommandLine((named) => createProgram(version, named));
