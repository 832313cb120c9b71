// Writes docs/cli.md from the commands themselves; with --check, fails when it is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeCommands } from '../src/cli/docs.ts';
import { createProgram } from '../src/cli/program.ts';

const file = join(import.meta.dirname, '../docs/cli.md');
const text = describeCommands(await createProgram('0.0.0'));
if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) throw new Error('docs/cli.md is not up to date: npm run docs');
