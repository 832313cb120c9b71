// Writes docs/cli.md and docs/ctx.md from the commands, and the events in docs/api.md; with --check, fails if a page is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeCommands } from '../src/cli/docs.ts';
import { createProgram } from '../src/cli/program.ts';
import { createProgram as createCtx } from '../src/ctx/program.ts';
import { withEventTable } from '../src/http/event-docs.ts';

const root = join(import.meta.dirname, '..');

for (const [name, create] of [
  ['docs/cli.md', createProgram],
  ['docs/ctx.md', createCtx],
] as const) {
  put(name, describeCommands(await create('0.0.0')));
}
put('docs/api.md', withEventTable(read('docs/api.md')));

function put(name: string, text: string): void {
  if (!process.argv.includes('--check')) writeFileSync(join(root, name), text);
  else if (read(name) !== text) throw new Error(`${name} is not up to date: npm run docs`);
}

function read(name: string): string {
  return readFileSync(join(root, name), 'utf8');
}
