// Writes docs/cli.md and docs/ctx.md from the commands themselves; with --check, fails when they are not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeCommands } from '../src/cli/docs.ts';
import { createProgram } from '../src/cli/program.ts';
import { createProgram as createCtx } from '../src/ctx/program.ts';

for (const [name, create] of [
  ['docs/cli.md', createProgram],
  ['docs/ctx.md', createCtx],
] as const) {
  const file = join(import.meta.dirname, '..', name);
  const text = describeCommands(await create('0.0.0'));
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) throw new Error(`${name} is not up to date: npm run docs`);
}
