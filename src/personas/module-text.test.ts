import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const IMPORT = join(import.meta.dirname, 'module-text.ts');

/** Vitest replaces import(), so this runs in a separate Node process. */
async function importAll(modules: readonly (readonly [string, string])[]): Promise<unknown> {
  const program = `import { importText } from ${JSON.stringify(IMPORT)};
    const found = [];
    for (const [path, text] of ${JSON.stringify(modules)}) found.push((await importText(path, text)).default);
    console.log(JSON.stringify(found));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  return JSON.parse(stdout);
}

test('executes the text that was read, even if the file has changed since', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'module-text-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const names = ['typed/x.ts', 'typed/x.js', 'plain/x.ts', 'plain/x.js', 'plain/x.mts', 'plain/x.mjs'];
  for (const name of names) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), 'export default "changed";');
    writeFileSync(join(directory, dirname(name), 'beside.ts'), 'export const beside: string = "beside";');
  }
  writeFileSync(join(directory, 'typed/package.json'), '{ "type": "module" }');
  const modules = names.map((name): [string, string] => {
    const type = name.endsWith('ts') ? ': string' : '';
    return [
      join(directory, name),
      `import { beside } from './beside.ts';\nconst mark${type} = 'read ';\nexport default mark + beside;`,
    ];
  });
  const [first = ['', '']] = modules;
  expect(await importAll([...modules, [first[0], 'export default 2;']])).toEqual([
    ...names.map(() => 'read beside'),
    2,
  ]);
});

test('leaves CommonJS modules to Node', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'module-text-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'x.cjs');
  writeFileSync(path, 'module.exports = { name: require("node:path").basename(__filename) };');
  expect(await importAll([[path, 'module.exports = {};']])).toEqual([{ name: 'x.cjs' }]);
});
