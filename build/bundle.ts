// Bundles `substrat` and `ctx` for the package, because most of a command's time is loading its modules. CommonJS:
// importing one of Node's own modules from ESM evaluates all of its lazy parts.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { rolldown } from 'rolldown';

/** Packages that load files of their own at run time (native code, WebAssembly, workers) or are optional. */
const EXTERNAL = [
  '@parcel/watcher',
  '@sentry/node',
  '@vscode/tree-sitter-wasm',
  'better-sqlite3',
  'linkedom',
  'mammoth',
  'pg',
  'pino',
  'unpdf',
  'wasmoon',
];

const OWN_URL = 'import.meta.url';
const LATE_CHILD_PROCESS = "process.getBuiltinModule('node:child_process')";

/** Writes `dist/bundle`, beside `dist/src`, which has the files that bundled modules name by their URL. */
export async function bundle(root: string, dist: string): Promise<void> {
  const out = join(dist, 'bundle');
  const build = await rolldown({
    input: { substrat: join(root, 'src/cli/main.ts'), ctx: join(root, 'src/ctx/main.ts') },
    platform: 'node',
    external: (id) => EXTERNAL.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [
      {
        name: 'own-url',
        /** A module finds its files where it would be without the bundle. All on one line: the source map stays right. */
        transform: (code, id) => {
          if (!id.startsWith(join(root, 'src')) || !code.includes(OWN_URL)) return null;
          const place = join('..', relative(root, id)).replace(/\.ts$/, '.js');
          return { code: code.replaceAll(OWN_URL, `new URL(${JSON.stringify(place)}, ${OWN_URL}).href`), map: null };
        },
      },
      {
        name: 'late-child-process',
        /** Commander starts programs for subcommands that are files of their own; ours are not. */
        transform: (code, id) => {
          const early = "import childProcess from 'node:child_process';";
          if (!id.endsWith('/commander/lib/command.js')) return null;
          if (!code.includes(early)) throw new Error('commander no longer imports node:child_process like that');
          const late = code.replace(early, '').replaceAll('childProcess.', `${LATE_CHILD_PROCESS}.`);
          return { code: late, map: null };
        },
      },
    ],
  });
  const { output } = await build.write({
    dir: out,
    format: 'cjs',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // As if `dist` were the repository.
    sourcemapPathTransform: (source, map) => relative(out, resolve(map, '..', source).replace(root, dist)),
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await build.close();
  writeFileSync(join(out, 'package.json'), '{ "type": "commonjs" }\n');
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(out, 'LICENSES.txt'), licencesOf(root, modules));
}

/** The licences of the packages whose code is in the bundle. */
function licencesOf(root: string, modules: readonly string[]): string {
  const inside = `${join(root, 'node_modules')}${sep}`;
  const packages = modules
    .filter((id) => id.startsWith(inside))
    .map((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? '');
  return [...new Set(packages)]
    .toSorted()
    .map((directory) => {
      const { name, version, license, author, homepage } = JSON.parse(
        readFileSync(join(directory, 'package.json'), 'utf8'),
      );
      const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license', 'LICENSE-MIT']
        .map((one) => join(directory, one))
        .find((path) => existsSync(path));
      // Some packages do not ship the text of their licence.
      const source = [author, homepage].filter((value) => value !== undefined).join(', ');
      const text =
        file === undefined ? `Copyright: the authors of ${source || name}` : readFileSync(file, 'utf8').trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
