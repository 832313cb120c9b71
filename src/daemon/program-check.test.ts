import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkProgram } from './program-check.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'program-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function write(name: string, source: string): string {
  const path = join(directory, name);
  writeFileSync(path, source);
  return path;
}

test.each([
  ['enum.ts', 'enum A { x }\n', /has a syntax error.*: .*enum/],
  ['broken.ts', 'let a = 1;\nconst b = ;\n', /has a syntax error in line \d: Expression expected\./],
  [
    'missing.ts',
    "import x from 'no-such-package/sub';\n",
    /imports "no-such-package\/sub", .*npm install no-such-package in /,
  ],
  ['missing.js', "import x from '@a/b/c';\n", /npm install @a\/b in /],
  ['script.sh', '#!/bin/sh\n', /is not executable: run chmod \+x/],
])('%s is refused in one sentence', (name, source, problem) => {
  const path = write(name, source);
  expect(() => checkProgram(path)).toThrow(problem);
});

test('a missing file and a directory are refused', () => {
  expect(() => checkProgram(join(directory, 'nothing.ts'))).toThrow(/does not exist/);
  expect(() => checkProgram(directory)).toThrow(/is not a file/);
});

test('the library, built-in modules, installed packages and files are found', () => {
  mkdirSync(join(directory, 'node_modules/there'), { recursive: true });
  const source = `import { runAgent } from 'substrat/scripted';
import { readFile } from 'node:fs/promises';
import path from 'path';
import there from 'there';
import other from './other.ts';
const text: string = "import x from 'not-an-import'";
await runAgent(() => text);
`;
  expect(() => checkProgram(write('fine.ts', source))).not.toThrow();
  const script = write('fine.sh', '#!/bin/sh\n');
  chmodSync(script, 0o755);
  expect(() => checkProgram(script)).not.toThrow();
});
