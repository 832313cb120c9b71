import { runCommandLine } from '../command-line/command-line.ts';
import { keepOwnFilesPrivate } from '../core/umask.ts';
import { VERSION } from '../core/version.ts';
import { createProgram } from './program.ts';

keepOwnFilesPrivate();
void runCommandLine((named) => createProgram(VERSION, named));
