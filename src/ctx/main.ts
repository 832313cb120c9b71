import { readFileSync } from 'node:fs';
import { runCommandLine } from '../command-line/command-line.ts';
import { keepOwnFilesPrivate } from '../core/umask.ts';
import { createProgram } from './program.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

keepOwnFilesPrivate();
void runCommandLine((named) => createProgram(version, named));
